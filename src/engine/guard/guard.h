/* SPDX-License-Identifier: Apache-2.0 */
/* guard: a helper process that watches what the kernel counts for nobody.
 *
 * Memory in the queues of netlink and ping sockets and in unfinished UDP packets is on no cgroup's account: with enough
 * sockets a sandbox takes all memory of the host and its own limit never notices. The guard looks twice a second and
 * ends one that holds more than GUARD_MAX_BYTES that way. Nor are compiled filters (seccomp) and locks of files on
 * anybody's account: filters.c, locks.c. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define GUARD_MAX_BYTES (16ull << 20) /* honest programs have some kilobytes */

/* that one must have more than its sandbox gives it, all its tasks together, to be ended for it */
#define GUARD_FILTERS_MIN 512

/* locks of parts of files that one sandbox may have: 3 MiB; honest programs have some dozens */
#define GUARD_LOCKS_MAX 16384

struct cgroup_tree;
struct helper;

int guard_start(struct cgroup_tree *t, struct helper *ret, struct err *e); /* helper_stop() ends it */
void guard_tick(struct cgroup_tree *t, struct helper *g);                  /* another one if it has died */

/* Which columns of a file in /proc/net count. */
enum guard_table { GUARD_NETLINK, GUARD_PING, GUARD_UDP };

/* Ends the sandbox with most filters of its own if the host's store of them is half full. */
void guard_filters(struct cgroup_tree *t);
uint64_t guard_store_line(const char *line, size_t n); /* bytes of that store in one line of /proc/vmallocinfo */
/* of one task, by the text of /proc/PID/status; -1: it does not say */
int64_t guard_filters_of(const char *status);

/* Ends sandboxes with more locks of files than that. Looks only now and then: the list is one of the whole host. */
void guard_locks(struct cgroup_tree *t);

struct guard_lock {
	int pid;      /* -1: of an open file, whoever has it */
	uint64_t dev; /* dev_t of the file system */
};

bool guard_lock_line(const char *line, struct guard_lock *ret); /* of /proc/locks; false: it is none */
/* of mountinfo: of a file system that a sandbox alone has */
bool guard_mount_line(const char *line, uint64_t *ret_dev);

/* The bytes that one line tells of; 0 for the heading and for what is no such line. */
uint64_t guard_line(enum guard_table table, const char *line, size_t n);
