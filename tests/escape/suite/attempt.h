/* SPDX-License-Identifier: Apache-2.0 */
/* attempt: one try at a wall, with the refusal that counts as one.
 *
 * An attempt is run in a process of its own. That something did not work is not enough: a refusal is one of the errors
 * that are expected, or a thing that was looked at and found whole (held()). Any other failure is "unclear", and counts
 * as a fault of the suite or of the wall until somebody has looked. */
#pragma once

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

#define EXPECT_MAX 6

enum {
	BY_ROOT = 1, /* means nothing to anybody but root of the sandbox */
	BY_USER = 2, /* root of the sandbox may: it concerns its own sandbox only */
	/* works for root of the host in namespaces of its own, so the control can show that it is a real attack */
	OUTSIDE = 4,
};

struct attempt {
	const char *name;      /* "mounts/tmpfs" */
	const char *guarantee; /* what it would break, as the promise reads */
	/* 0 or more: it worked. -errno: refused. Or what held(), unclear() and skip() return */
	int (*run)(void);
	long nr; /* without run: this system call */
	const void *a[6];
	int expect[EXPECT_MAX];
	unsigned flags;
};

struct attempts {
	const char *name;
	const struct attempt *v;
	size_t n;
};

extern const struct attempts mounts_group, spaces_group, kernel_group, proc_group, sys_group, dev_group, program_group,
    fds_group, identity_group, filter_group, sockets_group, netlink_group, reach_group, neighbour_group, server_group;

#define GROUP(id, text) const struct attempts id##_group = { text, attempts, sizeof attempts / sizeof *attempts }
#define COUNT(a) (sizeof(a) / sizeof *(a))
#define N(x) ((const void *)(x))

/* What they say is the detail of the report. */
int held(const char *fmt, ...) __attribute__((format(printf, 1, 2)));    /* it was looked at, and is whole */
int broken(const char *fmt, ...) __attribute__((format(printf, 1, 2)));  /* it worked */
int unclear(const char *fmt, ...) __attribute__((format(printf, 1, 2))); /* the attack could not be made */
/* this kernel or this run has no such thing */
int skip(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
int refused(int no, const char *fmt, ...) __attribute__((format(printf, 2, 3))); /* -no, with a detail */

#define SYS(...) sys_result(syscall(__VA_ARGS__))
static inline int sys_result(long r)
{
	return r < 0 ? -errno : 0;
}

int try_open(const char *path, int flags);          /* 0 or -errno */
int try_write(const char *path, const char *text);  /* the same */
int try_read(const char *path);                     /* an empty file is held() */
int slurp(const char *path, char *to, size_t size); /* bytes, NUL-terminated, or -errno */
const char *errno_name(int no);
/* what the runner told: an environment variable, or NULL */
const char *setting(const char *name);

/* For every process: 0 to go on. */
int each_process(int (*fn)(int pid, void *user), void *user);

int sweep_run(const char *table, bool print); /* every number of every ABI: sweep.c */
int bomb_run(const char *name);               /* bombs.c */
void bomb_list(void);
int target_run(void);                  /* what neighbours try to reach: target.c */
int target_touch(const char *address); /* 0: it can be reached */
void report(const char *result, const char *name, const char *guarantee, const char *detail);
