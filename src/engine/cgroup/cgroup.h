/* SPDX-License-Identifier: Apache-2.0 */
/* cgroup: the sandboxes' places in the cgroup tree, whatever the host has (v2, or several v1 hierarchies).
 *
 * One parent directory atollN holds all sandboxes of an instance, with a cpu weight and a memory limit for them
 * together; below it each sandbox has a directory named by its id. Nothing is kept per sandbox but that name,
 * so a restarted warden has nothing to find again. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/err.h"
#include "engine/cgroup/cpus.h"

struct cgroup_tree; /* opaque */

struct cgroup_limits { /* 0: no limit of its own */
	uint64_t mem_bytes;
	uint64_t swap_bytes;   /* beyond the memory; 0: none */
	uint32_t cpu_permille; /* 1000 = one core */
	uint32_t cpu_weight;   /* against the others; 100 is what they have */
	uint32_t pids;
	uint64_t io_bytes_s; /* of each of the disks, read and written each */
	uint32_t io_ops_s;
	char cpus[CPUS_TEXT_SIZE]; /* the processors it may run on; "": all of the host */
};

struct cgroup_usage {
	uint64_t mem_bytes, mem_cache_bytes, cpu_ns;
	uint32_t pids, oom_kills;
};

struct cgroup_detail { /* bytes, as far as the kernel tells */
	uint64_t mem_bytes, cache, shmem, mapped, dirty, writeback, active_anon, inactive_anon, active_file,
	    inactive_file, unevictable;
	uint64_t slab, slab_reclaimable, swap_bytes;
	uint64_t cpu_user_ns, cpu_system_ns;
	uint32_t pids;
};

#define CGROUP_PROCS_MAX 8
#define CGROUP_DIRS_MAX 9

/* How a process gets in. v2: it is born there, which costs nothing. v1: it is moved, which waits for the whole machine
 * (an RCU grace period, some milliseconds) and is best done while something else goes on. */
struct cgroup_seat {
	int into_fd; /* for userns_fork(), or -1 */
	int procs[CGROUP_PROCS_MAX];
	size_t n_procs;
};

#define CGROUP_SEAT_NONE ((struct cgroup_seat) { .into_fd = -1 })

/* Of all sandboxes together. mem_total_bytes 0: what the host has minus a reserve; cpu_weight: 100 is that of all
 * services of the system (v2), or of one task on each processor (v1). */
int cgroup_tree_open(uint32_t instance, uint64_t mem_total_bytes, uint32_t cpu_weight, struct cgroup_tree **ret,
    struct err *e);

/* Parents that somebody has removed meanwhile are made again: 1. Other processes have to find that out for
 * themselves. */
int cgroup_tree_mend(struct cgroup_tree *t, struct err *e);
void cgroup_tree_close(struct cgroup_tree *t, bool remove); /* NULL is fine; remove: the parent directories too */

/* The disks that limits of io are about: whole ones, no partitions. */
void cgroup_disks(struct cgroup_tree *t, const uint64_t *dev, size_t n);

int cgroup_make(struct cgroup_tree *t, const char *id, const struct cgroup_limits *lim, struct err *e);
/* others, from now on */
int cgroup_limit(struct cgroup_tree *t, const char *id, const struct cgroup_limits *lim, struct err *e);

/* Readable when a process of it was killed for want of memory, or (v1) is about to be; read it empty. */
int cgroup_oom_watch(struct cgroup_tree *t, const char *id, int *ret_fd, struct err *e);

int cgroup_seat_open(struct cgroup_tree *t, const char *id, struct cgroup_seat *ret, struct err *e);
void cgroup_seat_close(struct cgroup_seat *s);
/* pid 0: oneself; nothing to do when born there */
int cgroup_sit(const struct cgroup_seat *s, int pid, struct err *e);
/* one that was born elsewhere, as the copy of a zygote is */
int cgroup_move(const struct cgroup_seat *s, int pid, struct err *e);

int cgroup_cpu(struct cgroup_tree *t, const char *id, uint32_t permille); /* the quota alone; 0: none; -errno */

/* Sets the limits of io alone; of lim only those count. */
int cgroup_io(struct cgroup_tree *t, const char *id, const struct cgroup_limits *lim, struct err *e);

/* -EAGAIN: under way, ask again */
int cgroup_freeze(struct cgroup_tree *t, const char *id, bool on, struct err *e);
bool cgroup_is_frozen(struct cgroup_tree *t, const char *id); /* or is about to be */
/* the directory where it is frozen */
int cgroup_freezer(struct cgroup_tree *t, const char *id, int *ret_fd, struct err *e);
void cgroup_kill(struct cgroup_tree *t, const char *id);      /* all in it, for when nobody has a pidfd */
int cgroup_after_kill(struct cgroup_tree *t, const char *id); /* lets a frozen one feel its SIGKILL */
int cgroup_usage(struct cgroup_tree *t, const char *id, struct cgroup_usage *ret, struct err *e);
int cgroup_detail(struct cgroup_tree *t, const char *id, struct cgroup_detail *ret); /* -errno */
size_t cgroup_dirs(struct cgroup_tree *t, int *ret[CGROUP_DIRS_MAX]); /* where the fds of its directories stand */
/* of all together, without what is only a cache; -errno */
int cgroup_all_memory(struct cgroup_tree *t, uint64_t *ret_bytes);
/* how many processes all sandboxes of the host may have: it can still fork then */
uint32_t cgroup_host_pids(void);
/* -EBUSY while a process lives in it; idempotent */
int cgroup_remove(struct cgroup_tree *t, const char *id, struct err *e);

/* The processes of one, a number in each line. NULL: there is no such cgroup, see errno. */
FILE *cgroup_procs(int cgroup_fd);
FILE *cgroup_procs_of(const struct cgroup_tree *t, const char *id);

/* fn for each sandbox, with one of its processes. */
void cgroup_each(struct cgroup_tree *t, void (*fn)(struct cgroup_tree *t, const char *id, int pid));

/* Ends and removes what belongs to none of these: sandboxes that were being made when an earlier warden died. Names
 * with a "_" are not sandboxes and stay. */
void cgroup_keep_only(struct cgroup_tree *t, bool (*keep)(const char *id, void *arg), void *arg);
/* The same for names that begin with that prefix, and no others. */
void cgroup_keep_only_of(struct cgroup_tree *t, const char *prefix, bool (*keep)(const char *id, void *arg), void *arg);
/* ends all in it and removes it; nothing is wrong if there is none */
void cgroup_end(struct cgroup_tree *t, const char *id);
