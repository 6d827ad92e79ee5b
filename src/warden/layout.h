/* SPDX-License-Identifier: Apache-2.0 */
/* layout: the directories, files and sockets of an instance on the host, and who owns them. */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

struct config;

int user_find(const char *name, uid_t *ret_uid, gid_t *ret_gid, struct err *e);

/* State, run and registry directories; c->state and c->run are without links afterwards. */
int layout_dirs(struct config *c, struct err *e);

/* Locks RUN/warden.pid and writes our pid into it. -EBUSY: another warden uses that directory. */
int layout_pid_file(const struct config *c, int *ret_fd, struct err *e);

int layout_records_dir(const struct config *c, int *ret_fd, struct err *e);

/* Takes the run directory away, after the last sandbox: only what is ours and empty, so a directory that somebody else
 * uses stays. */
void layout_remove_run(const struct config *c);

/* STATE/front with a copy of the key, and STATE/agent, for the front's user alone. In the warden's own mount namespace
 * they are also mounted where that user can reach them whatever stands above STATE. */
#define FRONT_STATE "/run/atoll/front"
#define AGENT_STATE "/run/atoll/agent"
int layout_helper_states(const struct config *c, struct err *e);

/* ADDR:PORT or [ADDR]:PORT. Waits a moment for a front of a killed warden to let go of it. ret_at: the same with the
 * port that was really taken. */
int layout_listen(const char *where, int *ret_fd, char *ret_at, size_t at_size, struct err *e);

/* One line in a file of the state directory, for the command line on this machine; "" takes the file away. */
int layout_note(const struct config *c, const char *name, const char *line, struct err *e);

/* Port 53 of the instance's gateway address, and the port that connections are diverted to. */
#define LAYOUT_PROXY_PORT 54
#define LAYOUT_NAMES_PORT 55 /* where connections of sandboxes to host names of the server arrive */
int layout_names(uint32_t instance, int *ret_fd, struct err *e); /* on the gateway address */
int layout_gateway(uint32_t instance, int *ret_udp, int *ret_tcp, int *ret_proxy, struct err *e);

/* For a helper: one that its user may not execute is copied into memory. Whether that user could reach the path does
 * not matter. */
int layout_open_program(const char *path, int *ret_fd, struct err *e);

/* Opens a program of ours by name; ret_path gets where it was found. */
int layout_program(const char *libexec, const char *name, char *ret_path, size_t size, int *ret_fd, struct err *e);
