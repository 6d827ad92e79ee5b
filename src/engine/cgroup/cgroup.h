/* SPDX-License-Identifier: Apache-2.0 */
/* cgroup: the sandboxes' cgroups, on a host with v2 or with several v1 hierarchies.
 *
 * One parent directory atollN holds all sandboxes of an instance, with a CPU weight and a memory limit for all
 * together; below it each sandbox has a directory named by its id. That name is the only state per sandbox, so a
 * restarted warden has nothing to recover. */
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
	uint64_t swap_bytes;   /* in addition to mem_bytes; 0: none */
	uint32_t cpu_permille; /* 1000 = one core */
	uint32_t cpu_weight;   /* relative to the other sandboxes; 100 is their default */
	uint32_t pids;
	uint64_t io_bytes_s; /* per disk, for reads and for writes */
	uint32_t io_ops_s;
	char cpus[CPUS_TEXT_SIZE]; /* the processors it may run on; "": all of the host's */
};

struct cgroup_usage {
	uint64_t mem_bytes, mem_cache_bytes, swap_bytes, cpu_ns;
	uint32_t pids, oom_kills;
};

struct cgroup_detail { /* bytes, as far as the kernel reports them */
	uint64_t mem_bytes, cache, shmem, mapped, dirty, writeback, active_anon, inactive_anon, active_file,
	    inactive_file, unevictable;
	uint64_t slab, slab_reclaimable, swap_bytes;
	uint64_t cpu_user_ns, cpu_system_ns;
	uint32_t pids;
};

#define CGROUP_PROCS_MAX 8
#define CGROUP_DIRS_MAX 9

/* How a process with one thread enters a cgroup. v2: it is cloned into it, which costs nothing. v1: it moves itself,
 * which costs nothing either. To move another process waits for the whole machine (an RCU grace period, some
 * milliseconds) and is best done in parallel with other work. */
struct cgroup_seat {
	int into_fd; /* for userns_fork(), or -1 */
	int procs[CGROUP_PROCS_MAX];
	size_t n_procs;
};

#define CGROUP_SEAT_NONE ((struct cgroup_seat) { .into_fd = -1 })

/* The limits of all sandboxes together. */
struct cgroup_totals {
	uint64_t mem_bytes;   /* 0: the host's memory minus a reserve, */
	uint64_t aside_bytes; /* and minus this */
	uint64_t swap_bytes;  /* in addition to their memory, for what is reclaimed from idle ones; 0: none */
	uint32_t cpu_weight;  /* 100 equals all system services together (v2), or one task per processor (v1); 0: 100 */
};

int cgroup_tree_open(uint32_t instance, const struct cgroup_totals *all, struct cgroup_tree **ret, struct err *e);

/* Creates parent directories again that have been removed from outside; returns 1 if it did. Other processes must
 * notice that for themselves. */
int cgroup_tree_mend(struct cgroup_tree *t, struct err *e);
void cgroup_tree_close(struct cgroup_tree *t, bool remove); /* t may be NULL; remove: removes the parent
							     * directories too */

/* The disks that I/O limits apply to: whole disks, no partitions. */
void cgroup_disks(struct cgroup_tree *t, const uint64_t *dev, size_t n);

int cgroup_make(struct cgroup_tree *t, const char *id, const struct cgroup_limits *lim, struct err *e);
/* Changes the limits. */
int cgroup_limit(struct cgroup_tree *t, const char *id, const struct cgroup_limits *lim, struct err *e);

/* Opens an fd that reports when the kernel has killed a process of the sandbox because of its memory limit, or (v1)
 * is about to. Returns 0 if the fd becomes readable then (v1), or CGROUP_OOM_PRIORITY if it reports EPOLLPRI (v2)
 * until it is read from offset 0. */
#define CGROUP_OOM_PRIORITY 1
int cgroup_oom_watch(struct cgroup_tree *t, const char *id, int *ret_fd, struct err *e);

int cgroup_seat_open(struct cgroup_tree *t, const char *id, struct cgroup_seat *ret, struct err *e);
void cgroup_seat_close(struct cgroup_seat *s);
/* pid 0: the caller. Does nothing if the process was cloned into the cgroup. */
int cgroup_sit(const struct cgroup_seat *s, int pid, struct err *e);
/* For a process that was cloned elsewhere, as a zygote's copy is. */
int cgroup_move(const struct cgroup_seat *s, int pid, struct err *e);

int cgroup_cpu(struct cgroup_tree *t, const char *id, uint32_t permille); /* sets only the CPU quota; 0: none;
									   * -errno */

/* Sets only the I/O limits of lim. */
int cgroup_io(struct cgroup_tree *t, const char *id, const struct cgroup_limits *lim, struct err *e);

/* -EAGAIN: in progress, call again. */
int cgroup_freeze(struct cgroup_tree *t, const char *id, bool on, struct err *e);
bool cgroup_is_frozen(struct cgroup_tree *t, const char *id); /* or is being frozen */
/* Opens the directory by which it is frozen. */
int cgroup_freezer(struct cgroup_tree *t, const char *id, int *ret_fd, struct err *e);
void cgroup_kill(struct cgroup_tree *t, const char *id);      /* kills all processes in it, for when no pidfd
							       * exists */
int cgroup_after_kill(struct cgroup_tree *t, const char *id); /* makes a SIGKILL take effect in a frozen sandbox */
int cgroup_usage(struct cgroup_tree *t, const char *id, struct cgroup_usage *ret, struct err *e);
int cgroup_detail(struct cgroup_tree *t, const char *id, struct cgroup_detail *ret); /* -errno */
int cgroup_cpu_used(struct cgroup_tree *t, const char *id, uint64_t *ret_ns);        /* -errno */
int cgroup_memory(struct cgroup_tree *t, const char *id, uint64_t *ret_bytes); /* what it is charged for; -errno */
/* Reclaims memory of the sandbox, whether that is in use or not: file cache is dropped, the rest goes to swap. Ends
 * early if a signal arrives. 1: there may be more, 0: nothing more can be reclaimed; -errno. */
int cgroup_reclaim(struct cgroup_tree *t, const char *id);
size_t cgroup_dirs(struct cgroup_tree *t, int *ret[CGROUP_DIRS_MAX]); /* pointers to the tree's directory fds */
/* Memory of all sandboxes together, without file cache; -errno. */
int cgroup_all_memory(struct cgroup_tree *t, uint64_t *ret_bytes);
/* How many processes all sandboxes of the host may have, so that the host itself can still fork. */
uint32_t cgroup_host_pids(void);
/* -EBUSY while a process is in it; idempotent. */
int cgroup_remove(struct cgroup_tree *t, const char *id, struct err *e);

/* Lists the processes of a cgroup, one number per line. NULL: no such cgroup, see errno. */
FILE *cgroup_procs(int cgroup_fd);
FILE *cgroup_procs_of(const struct cgroup_tree *t, const char *id);

/* Calls fn for each sandbox. */
void cgroup_names(struct cgroup_tree *t, void (*fn)(void *arg, const char *id), void *arg);
/* The same, with one of its processes. */
void cgroup_each(struct cgroup_tree *t, void (*fn)(struct cgroup_tree *t, const char *id, int pid));

/* Kills and removes the sandboxes for which keep() returns false: they were being made when an earlier warden
 * died. Names with a "_" are not sandboxes and stay. */
void cgroup_keep_only(struct cgroup_tree *t, bool (*keep)(const char *id, void *arg), void *arg);
/* The same, but only for names that begin with that prefix. */
void cgroup_keep_only_of(struct cgroup_tree *t, const char *prefix, bool (*keep)(const char *id, void *arg), void *arg);
/* Kills all processes in it and removes it; it need not exist. */
void cgroup_end(struct cgroup_tree *t, const char *id);
