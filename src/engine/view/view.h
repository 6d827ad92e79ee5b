/* SPDX-License-Identifier: Apache-2.0 */
/* view: what a sandbox sees of the machine. /proc/meminfo, cpuinfo, stat, uptime, loadavg, swaps, diskstats and
 * the lists of processors show its own limits and usage at the time of the read.
 *
 *	atoll-view	one process for all sandboxes of an instance: a FUSE file system of a few read-only files. It
 *			has a directory per slot, so it need not know which process reads. It runs as an unprivileged
 *			user with a seccomp filter, in a root that holds only the sandboxes' cgroups.
 *	table		memory that it shares with the warden: a row per slot, written by the process that makes a
 *			sandbox or changes its limits.
 *	mounts		the directory of the slot is mounted on /dev/.atoll/view of the sandbox, and its files on
 *			those of /proc and /sys.
 *
 * The FUSE device outlives each of these processes: the warden holds it, and a process gets a clone of it.
 * Requests in progress with a process that dies fail with ECONNABORTED; later requests wait for the next process.
 * A new warden gets the device from the process of the old one (RUN/view.sock), so nothing is ever remounted in a
 * running sandbox. On a host without FUSE, sandboxes see the host's files. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "engine/cgroup/cpus.h"
#include "engine/engine.h"

struct cgroup_tree;

enum view_file {
	VIEW_MEMINFO,
	VIEW_CPUINFO,
	VIEW_STAT,
	VIEW_UPTIME,
	VIEW_LOADAVG,
	VIEW_SWAPS,
	VIEW_DISKSTATS,
	VIEW_CPUS,
	VIEW_FILES,
};

extern const char *const view_names[VIEW_FILES];

struct view_row {         /* one writer at a time: the process that makes the sandbox, then the one that limits it */
	uint32_t version; /* odd while it is written */
	uint32_t cpu_permille;
	uint32_t slot;
	char id[ENGINE_ID_SIZE];
	uint64_t mem_bytes, swap_bytes, extra_bytes;
	uint64_t born_ms; /* CLOCK_BOOTTIME */
};

struct view {
	int device, mount, dir; /* the master device, the mount, RUN/view; -1: no view */
	int listener;
	char *path, *socket_path;
	struct view_row *rows; /* one row per slot, and one more in which atoll-view writes the time */
	size_t n_rows;
	pid_t pid; /* of atoll-view; 0: none */
	uint64_t started_ms;
	char *cpuinfo;    /* the host's */
	struct cpus cpus; /* the processors that sandboxes may run on */
	uid_t uid;
	struct cgroup_tree *cgroups;
};

#define VIEW_NONE ((struct view) { .device = -1, .mount = -1, .dir = -1, .listener = -1 })

/* Takes over the file system of an earlier warden, or makes one, and starts atoll-view. Cannot fail: without a
 * view, v->dir is -1. Called in the warden's own mount namespace. */
void view_open(struct view *v, const char *run_dir, size_t slots, uid_t uid, struct cgroup_tree *cgroups);
void view_tick(struct view *v);            /* restarts atoll-view if it has exited */
void view_renew(struct view *v);           /* kills atoll-view, so that the next one opens the current cgroups */
void view_close(struct view *v, bool all); /* all: kills atoll-view too */

/* May be called in any process forked from the warden after view_open(). born_ms 0: now, or unchanged if it is
 * known. */
void view_set(struct view *v, const struct engine_spec *spec, const struct engine_limits *l, uint64_t extra_bytes,
    uint64_t born_ms);
uint64_t view_born(uint64_t started_wall_ms);
uint64_t view_now(void); /* CLOCK_BOOTTIME, in ms */

/* Clones the directory of a slot as a mount; *ret_fd stays -1 if there is no view. */
int view_clone(const struct view *v, uint32_t slot, int *ret_fd, struct err *e);

/* The main function of atoll-view; exits when no process needs it. */
_Noreturn void view_serve(const struct view *v, int device);
