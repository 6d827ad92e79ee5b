/* SPDX-License-Identifier: Apache-2.0 */
/* cgroup_impl: what the two back ends share: the table of their functions, settings, and readers of kernel files. */
#pragma once

#include "engine/cgroup/cgroup.h"

struct cgroup_backend {
	/* makes or finds the parents */
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
	/* parent directory where they are frozen, or -1 */
	int (*freezer)(struct cgroup_tree *t);
	int (*after_kill)(struct cgroup_tree *t, const char *id);
	int (*usage)(struct cgroup_tree *t, const char *id, struct cgroup_usage *ret, struct err *e);
	int (*detail)(struct cgroup_tree *t, const char *id, struct cgroup_detail *ret);
	int (*all_memory)(struct cgroup_tree *t, uint64_t *ret_bytes);
	int (*remove)(struct cgroup_tree *t, const char *id, struct err *e);
	void (*remove_all)(struct cgroup_tree *t);
};

extern const struct cgroup_backend cgroup_v1, cgroup_v2;

#define CGROUP_V1_MAX 8
#define CGROUP_DISKS_MAX 4

struct cgroup_tree {
	const struct cgroup_backend *be;
	char parent[24]; /* "atoll3" */
	uint64_t mem_total_bytes;
	uint32_t pids_total, cpu_weight;
	uint64_t disks[CGROUP_DISKS_MAX]; /* dev_t */
	size_t n_disks;
	int v1_fd[CGROUP_V1_MAX];      /* parent directory per hierarchy, -1: not there; order of v1_names */
	int v1_root_fd[CGROUP_V1_MAX]; /* the directory that holds it */
	int v2_fd, v2_root_fd;
	bool v2_moves; /* processes are moved into them: cgroup_v2_births() said no */
};

struct cgroup_setting {
	const char *controller; /* v1: the hierarchy it is in */
	const char *file;
	char value[128];
	bool optional; /* not every kernel has the file */
};

#define CGROUP_SETTINGS_MAX 8

size_t cgroup_v1_settings(const struct cgroup_limits *lim, struct cgroup_setting ret[CGROUP_SETTINGS_MAX]);
size_t cgroup_v2_settings(const struct cgroup_limits *lim, struct cgroup_setting ret[CGROUP_SETTINGS_MAX]);

/* Whether a process that we clone into a fresh cgroup below this one lives there. Tries it. */
bool cgroup_v2_births(int parent_fd);

uint32_t cgroup_v1_shares_all(uint32_t weight, long cpus);

/* ... of io, for one disk; no limit is written out, too. */
#define CGROUP_V1_IO 4
void cgroup_v1_io(const struct cgroup_limits *lim, uint64_t dev, struct cgroup_setting ret[CGROUP_V1_IO]);
void cgroup_v2_io(const struct cgroup_limits *lim, uint64_t dev, struct cgroup_setting *ret);

/* Where a hierarchy is mounted, from the text of /proc/self/mountinfo: type "cgroup2" (controller NULL), or "cgroup"
 * with that controller. -ENOENT. */
int cgroup_find_mount(const char *mountinfo, const char *type, const char *controller, char *ret, size_t size);

bool cgroup_has_word(const char *text, const char *word);           /* "cpu memory pids" has "memory" */
int cgroup_field(const char *text, const char *key, uint64_t *ret); /* "key 123" on a line of its own; -ENOENT */
int cgroup_number(int dirfd, const char *id, const char *file, uint64_t *ret);
int cgroup_write(int dirfd, const char *id, const char *file, const char *value); /* id NULL: in dirfd itself */
/* of memory.stat, where both have the same */
void cgroup_memory_fields(const char *text, const char *prefix, struct cgroup_detail *ret);
int cgroup_memory_sum(int dirfd, const char *first, const char *second, uint64_t *ret);
/* one level of children, then itself; 0 when not there */
int cgroup_rmdir_tree(int dirfd, const char *name);
bool cgroup_says(int dirfd, const char *id, const char *file, const char *want);
int cgroup_look_frozen(int dirfd, const char *id, const char *file, const char *want, struct err *e);
