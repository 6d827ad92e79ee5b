/* SPDX-License-Identifier: Apache-2.0 */
/* view: what a sandbox sees of the machine: /proc/meminfo, cpuinfo, stat, uptime, loadavg, swaps, diskstats and the
 * lists of processors tell of its limits and of its use, at the moment they are read.
 *
 *	atoll-view	one process for all sandboxes of an instance: a FUSE file system of a few read-only files. It
 *			has a directory for each slot, so it never asks who reads. It runs as an ordinary user with a
 *			list of system calls, in a root that holds the sandboxes' cgroups and nothing else.
 *	table		memory that it shares with us: a row for each slot. Whoever makes a sandbox, or changes its
 *			limits, writes its row.
 *	mounts		the directory of the slot is mounted on /dev/.atoll/view of the sandbox, and its files on
 *			those of /proc and /sys.
 *
 * The device of the file system outlives each of the processes: we hold it, and a process gets a clone of it. What
 * is under way with a process that dies fails with ECONNABORTED, what comes after waits for the next one. A new
 * warden asks the process of the old one for the device (RUN/view.sock), so nothing is ever mounted again in a
 * sandbox that runs. Where a host has no FUSE, sandboxes see the host. */
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

struct view_row {         /* one writer at a time: who makes the sandbox, then who limits it */
	uint32_t version; /* odd while it is written */
	uint32_t cpu_permille;
	uint32_t slot;
	char id[ENGINE_ID_SIZE];
	uint64_t mem_bytes, swap_bytes, extra_bytes;
	uint64_t born_ms; /* CLOCK_BOOTTIME */
};

struct view {
	int device, mount, dir; /* the master, RUN/view, and -1: there is no view */
	int listener;
	char *path, *socket_path;
	struct view_row *rows; /* and one more, in which atoll-view tells the time */
	size_t n_rows;
	pid_t pid; /* of atoll-view; 0: none */
	uint64_t started_ms;
	char *cpuinfo;    /* the host's */
	struct cpus cpus; /* that sandboxes may run on */
	uid_t uid;
	struct cgroup_tree *cgroups;
};

#define VIEW_NONE ((struct view) { .device = -1, .mount = -1, .dir = -1, .listener = -1 })

/* Takes over the file system of an earlier life, or makes it, and starts atoll-view. Cannot fail: without it v->dir is
 * -1. In the warden's own mount namespace. */
void view_open(struct view *v, const char *run_dir, size_t slots, uid_t uid, struct cgroup_tree *cgroups);
void view_tick(struct view *v);            /* starts it again */
void view_renew(struct view *v);           /* ends it: the next one sees the cgroups as they are then */
void view_close(struct view *v, bool all); /* all: atoll-view too, nobody needs it any more */

/* In any process that was forked from us since. born_ms 0: now, or as before if it is known */
void view_set(struct view *v, const struct engine_spec *spec, const struct engine_limits *l, uint64_t extra_bytes,
    uint64_t born_ms);
uint64_t view_born(uint64_t started_wall_ms);
uint64_t view_now(void); /* CLOCK_BOOTTIME, in ms */

/* The directory of a slot, to be mounted; *ret_fd stays -1 where there is none. */
int view_clone(const struct view *v, uint32_t slot, int *ret_fd, struct err *e);

/* What atoll-view does until nobody needs it. */
_Noreturn void view_serve(const struct view *v, int device);
