/* SPDX-License-Identifier: Apache-2.0 */
/* cgroup_impl: what the v1 and v2 backends share: their function tables, settings, and readers of kernel files. */
#pragma once

#include "engine/cgroup/cgroup.h"

struct cgroup_backend {
	/* Makes or finds the parent directories. */
	int (*open)(struct cgroup_tree *t, const char *mountinfo, struct err *e);
	int (*limit_all)(struct cgroup_tree *t, struct err *e);
	int (*make)(struct cgroup_tree *t, const char *id, const struct cgroup_limits *lim, struct err *e);
	int (*limit)(struct cgroup_tree *t, const char *id, const struct cgroup_limits *lim, struct err *e);
	int (*cpu)(struct cgroup_tree *t, const char *id, uint32_t permille); /* 0: no quota; -errno */
	int (*io)(struct cgroup_tree *t, const char *id, const struct cgroup_limits *lim, struct err *e);
	int (*oom_watch)(struct cgroup_tree *t, const char *id, int *ret_fd, struct err *e);
	int (*seat)(struct cgroup_tree *t, const char *id, struct cgroup_seat *ret, struct err *e);
	int (*freeze)(struct cgroup_tree *t, const char *id, bool on, struct err *e);
	bool (*is_frozen)(struct cgroup_tree *t, const char *id);
	/* Parent directory by which sandboxes are frozen, or -1. */
	int (*freezer)(struct cgroup_tree *t);
	int (*after_kill)(struct cgroup_tree *t, const char *id);
	int (*usage)(struct cgroup_tree *t, const char *id, struct cgroup_usage *ret, struct err *e);
	int (*detail)(struct cgroup_tree *t, const char *id, struct cgroup_detail *ret);
	int (*all_memory)(struct cgroup_tree *t, uint64_t *ret_bytes);
	int (*cpu_used)(struct cgroup_tree *t, const char *id, uint64_t *ret_ns);
	int (*memory)(struct cgroup_tree *t, const char *id, uint64_t *ret_bytes);
	int (*reclaim)(struct cgroup_tree *t, const char *id);
	int (*remove)(struct cgroup_tree *t, const char *id, struct err *e);
	void (*remove_all)(struct cgroup_tree *t);
};

extern const struct cgroup_backend cgroup_v1, cgroup_v2;

#define CGROUP_V1_MAX 8
#define CGROUP_DISKS_MAX 4

struct cgroup_tree {
	const struct cgroup_backend *be;
	char parent[24];                      /* "atoll3" */
	uint64_t mem_total_bytes, swap_bytes; /* swap: see cgroup_swap() */
	uint32_t pids_total, cpu_weight;
	uint64_t disks[CGROUP_DISKS_MAX]; /* dev_t */
	size_t n_disks;
	int v1_fd[CGROUP_V1_MAX];      /* parent directory per hierarchy, in the order of v1_names; -1: absent */
	int v1_root_fd[CGROUP_V1_MAX]; /* the directory that holds it */
	int v2_fd, v2_root_fd;
	bool v2_moves; /* processes are moved into cgroups, because cgroup_v2_births() returned false */
};

struct cgroup_setting {
	const char *controller; /* v1: the hierarchy it is in */
	const char *file;
	char value[128];
	bool optional; /* some kernels do not have the file */
};

#define CGROUP_SETTINGS_MAX 8

size_t cgroup_v1_settings(const struct cgroup_limits *lim, struct cgroup_setting ret[CGROUP_SETTINGS_MAX]);
size_t cgroup_v2_settings(const struct cgroup_limits *lim, struct cgroup_setting ret[CGROUP_SETTINGS_MAX]);

/* Tests whether a process cloned into a new cgroup below this one really is in it. */
bool cgroup_v2_births(int parent_fd);

/* Opens a file of a cgroup whose changes the kernel reports as EPOLLPRI (memory.events, cgroup.events). */
int cgroup_v2_watch(int dirfd, const char *id, const char *file, int *ret_fd, struct err *e);

uint32_t cgroup_v1_shares_all(uint32_t weight, long cpus);

/* ... of I/O, for one disk; "no limit" is written too. */
#define CGROUP_V1_IO 4
void cgroup_v1_io(const struct cgroup_limits *lim, uint64_t dev, struct cgroup_setting ret[CGROUP_V1_IO]);
void cgroup_v2_io(const struct cgroup_limits *lim, uint64_t dev, struct cgroup_setting *ret);

/* Finds the mount point of a hierarchy in the text of /proc/self/mountinfo: type "cgroup2" (controller NULL), or
 * "cgroup" with that controller. -ENOENT. */
int cgroup_find_mount(const char *mountinfo, const char *type, const char *controller, char *ret, size_t size);

bool cgroup_has_word(const char *text, const char *word);           /* "cpu memory pids" has "memory" */
int cgroup_field(const char *text, const char *key, uint64_t *ret); /* "key 123" on a line of its own; -ENOENT */
int cgroup_number(int dirfd, const char *id, const char *file, uint64_t *ret);
int cgroup_write(int dirfd, const char *id, const char *file, const char *value); /* id NULL: in dirfd itself */
/* The fields of memory.stat that v1 and v2 have in common. */
void cgroup_memory_fields(const char *text, const char *prefix, struct cgroup_detail *ret);
int cgroup_memory_sum(int dirfd, const char *first, const char *second, uint64_t *ret);
/* Removes one level of children, then the directory itself; 0 if it does not exist. */
int cgroup_rmdir_tree(int dirfd, const char *name);
bool cgroup_says(int dirfd, const char *id, const char *file, const char *want);
int cgroup_look_frozen(int dirfd, const char *id, const char *file, const char *want, struct err *e);
