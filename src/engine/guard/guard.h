/* SPDX-License-Identifier: Apache-2.0 */
/* guard: a helper process that watches kernel memory that is charged to no cgroup.
 *
 * Memory in the queues of netlink and ping sockets and in unfinished UDP packets is charged to no cgroup: with
 * enough sockets a sandbox could take all memory of the host without reaching its own limit. The guard checks
 * twice a second and kills a sandbox that holds more than GUARD_MAX_BYTES that way. Compiled seccomp filters and
 * file locks are not charged either: filters.c, locks.c. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define GUARD_MAX_BYTES (16ull << 20) /* well-behaved programs use a few kilobytes */

/* A sandbox is killed for its filters only if all its tasks together have at least this many beyond those that
 * every task has. */
#define GUARD_FILTERS_MIN 512

/* A sandbox that holds this many file locks is killed: they take 3 MiB. Well-behaved programs hold a few dozen. */
#define GUARD_LOCKS_MAX 16384

struct cgroup_tree;
struct helper;

int guard_start(struct cgroup_tree *t, struct helper *ret, struct err *e); /* helper_stop() stops it */
void guard_tick(struct cgroup_tree *t, struct helper *g);                  /* starts another one if it has died */

/* Selects the columns of a /proc/net file that count. */
enum guard_table { GUARD_NETLINK, GUARD_PING, GUARD_UDP };

/* Kills the sandbox with the most filters of its own if the host's memory for them is half full. */
void guard_filters(struct cgroup_tree *t);
uint64_t guard_store_line(const char *line, size_t n); /* bytes of that memory in one line of /proc/vmallocinfo */
/* Filters of one task, from the text of /proc/PID/status; -1: the text does not contain the count. */
int64_t guard_filters_of(const char *status);

/* Kills sandboxes with GUARD_LOCKS_MAX file locks or more. Checks only now and then, because the list is of the
 * whole host. */
void guard_locks(struct cgroup_tree *t);

struct guard_lock {
	int pid;      /* -1: an open file description lock, which has no owner */
	uint64_t dev; /* dev_t of the file system */
};

bool guard_lock_line(const char *line, struct guard_lock *ret); /* parses a line of /proc/locks; false: not a lock */
/* Parses a line of mountinfo: true for a file system that only this sandbox has. */
bool guard_mount_line(const char *line, uint64_t *ret_dev);

/* Bytes that one line accounts for; 0 for the heading and for any other text. */
uint64_t guard_line(enum guard_table table, const char *line, size_t n);
