/* SPDX-License-Identifier: Apache-2.0 */
/* gvisor: the backend whose sandboxes have a kernel of their own in user space, runsc's sentry.
 *
 *	launcher	`runsc run`, root of the host in the sandbox's cgroups; makes the next two and exits
 *	sentry		the kernel of the sandbox: runs as the slot's uids in a user namespace, with an empty root and
 *			a seccomp filter of its own. The sandbox lives as long as it does; its pid is that of the record
 *	gofer		opens files of the sandbox's root for the sentry; same uids, its root directory is that root
 *
 * The host's side is as for other sandboxes: an overlay of the template and the subvolume, id-mapped to the slot; the
 * slot's veth, which the sentry's network stack takes over; the slot's cgroups. Per sandbox there is a directory
 * RUN/gvisor/ID with the specification that runsc reads and with its state; nothing in it is needed to end the
 * sandbox. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "engine/cgroup/cgroup.h"
#include "engine/engine.h"

struct gvisor {
	int exe;    /* the runsc binary; -1: there is none */
	int dir_fd; /* RUN/gvisor */
	char *dir;
	const char *place; /* where the mounts of a sandbox are, in a mount namespace of its builder */
	char why_not[160];
};

/* --- start (start.c) -----------------------------------------------------------------------------------------------
 */

int gvisor_start(struct engine *en, const struct engine_spec *spec, const struct engine_pair *pair,
    struct engine_record *ret, int *ret_pidfd, struct err *e);
/* The limits of the cgroup: more processes than the sandbox sees, because the sentry and its helpers count too. */
struct engine_limits gvisor_limits(const struct engine_limits *l);

/* --- its directory (bundle.c) --------------------------------------------------------------------------------------
 */

struct bundle {
	char dir[256]; /* RUN/gvisor/ID */
	int dir_fd;
};

#define BUNDLE_NONE ((struct bundle) { .dir_fd = -1 })

struct bundle_spec {
	const struct engine_spec *spec;
	const char *place;
	uid_t root;   /* on the host: uid 0 of the sandbox */
	int netns_fd; /* of the calling process */
};

/* Makes the directory, with empty mount points. -EEXIST: there is one of that id. */
int bundle_make(struct engine *en, const char *id, struct bundle *ret, struct err *e);
int bundle_write(const struct bundle *b, const struct bundle_spec *sp, struct err *e); /* config.json */
/* In a new mount namespace: a descriptor from before is of the old one. */
int bundle_reopen(struct bundle *b, struct err *e);
void bundle_close(struct bundle *b);
/* Removes the directory, which holds few files of known names and nothing of the sandbox. Idempotent. */
void bundle_remove(struct engine *en, const char *id);

/* --- runsc (run.c) -------------------------------------------------------------------------------------------------
 */

#define RUNSC_ARGS_MAX 12

/* Runs a command of runsc and waits for it: args are its name and what follows. seat: the cgroups to run it in; NULL:
 * those of the caller. pass: descriptor that it inherits, under its number; -1: none. */
int runsc_run(struct engine *en, const struct bundle *b, const struct cgroup_seat *seat, int pass,
    const char *const *args, int timeout_ms, struct err *e);
