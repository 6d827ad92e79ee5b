/* SPDX-License-Identifier: Apache-2.0 */
/* layout: the directories, files and sockets of an instance on the host, and their owners. */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

struct config;

int user_find(const char *name, uid_t *ret_uid, gid_t *ret_gid, struct err *e);

/* Creates the state, run and registry directories. c->state and c->run have no symbolic links afterwards. */
int layout_dirs(struct config *c, struct err *e);

/* Locks RUN/warden.pid and writes the warden's pid to it. -EBUSY: another warden uses that directory. */
int layout_pid_file(const struct config *c, int *ret_fd, struct err *e);

int layout_records_dir(const struct config *c, int *ret_fd, struct err *e);

/* Removes the run directory after the last sandbox: only the warden's own files and empty directories, so that a
 * directory with other uses stays. */
void layout_remove_run(const struct config *c);

/* Creates STATE/front with a copy of the key, and STATE/agent, accessible to the front's user only. They are
 * also mounted at fixed paths in the warden's own mount namespace, where that user can reach them whatever the
 * permissions above STATE are. */
#define FRONT_STATE "/run/atoll/front"
#define AGENT_STATE "/run/atoll/agent"
int layout_helper_states(const struct config *c, struct err *e);

/* Listens on ADDR:PORT or [ADDR]:PORT. Retries for a while, because the front of a killed warden may still hold
 * the address. ret_at gets the address with the actual port. */
int layout_listen(const char *where, int *ret_fd, char *ret_at, size_t at_size, struct err *e);

/* Writes one line to a file in the state directory, for the command line tools on this machine. "" removes the
 * file. */
int layout_note(const struct config *c, const char *name, const char *line, struct err *e);

/* Port 53 of the instance's gateway address, and the port that connections are redirected to. */
#define LAYOUT_PROXY_PORT 54
#define LAYOUT_NAMES_PORT 55 /* for connections of sandboxes to host names of the server */
int layout_names(uint32_t instance, int *ret_fd, struct err *e); /* on the gateway address */
int layout_gateway(uint32_t instance, int *ret_udp, int *ret_tcp, int *ret_proxy, struct err *e);

/* Opens a helper program. A program that its user may not execute is copied to memory. The directories above the
 * path need not be accessible to that user. */
int layout_open_program(const char *path, int *ret_fd, struct err *e);

/* Opens the directory of the console's files: the configured one, or the one of this installation or build.
 * *ret_fd: -1 if there is none. */
int layout_console(const struct config *c, int *ret_fd, struct err *e);

/* Opens one of atoll's programs by name; ret_path gets its path. */
int layout_program(const char *libexec, const char *name, char *ret_path, size_t size, int *ret_fd, struct err *e);
