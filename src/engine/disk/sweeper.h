/* SPDX-License-Identifier: Apache-2.0 */
/* sweeper: a helper process for slow work on the storage: deleting directories, growing, removing stale quota
 * counters.
 *
 * Deleting a subvolume takes microseconds or, with much unwritten data in it, half a second; the warden's loop
 * must not wait for that. The helper processes one request at a time and exits with its last client.
 * storage_keep_only() deletes at the next start what it has not got to. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

struct helper;

struct sweeper_job {
	int fs_fd;            /* the directory with one directory per sandbox */
	int file_fd, loop_fd; /* of the storage file; -1: it does not grow */
	uint64_t bytes, max_bytes;
	unsigned rest; /* ticks until all subvolumes are looked at again, as long as most is free */
};

/* helper_stop() lets it finish. */
int sweeper_start(const struct sweeper_job *job, struct helper *ret, struct err *e);
int sweeper_remove(struct helper *s, const char *name); /* -EAGAIN: too many requests queued, call again */
void sweeper_tick(struct helper *s);
void sweeper_want_room(struct helper *s, uint64_t bytes); /* asks it to make that many bytes free soon */

int sweeper_remove_now(int fs_fd, const char *name); /* in this process; 0 once it is gone, -errno */
