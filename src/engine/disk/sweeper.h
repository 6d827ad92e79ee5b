/* SPDX-License-Identifier: Apache-2.0 */
/* sweeper: a helper process for slow work on the pool's disk: removing directories, growing, counters of the dead.
 *
 * Removing a subvolume takes microseconds or, with much unwritten data in it, half a second; the warden's loop must not
 * wait for that. The helper does one request after the other and ends with its last client. What it does not get to,
 * the next pool_open() does. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

struct helper;

struct sweeper_job {
	int fs_fd;            /* the directory with one directory per sandbox */
	int file_fd, loop_fd; /* of the pool file; -1: nothing grows */
	uint64_t bytes, max_bytes;
};

/* helper_stop() lets it finish */
int sweeper_start(const struct sweeper_job *job, struct helper *ret, struct err *e);
int sweeper_remove(struct helper *s, const char *name); /* -EAGAIN: too much at once, ask again */
void sweeper_tick(struct helper *s);
void sweeper_want_room(struct helper *s, uint64_t bytes); /* that many should be free, soon */

int sweeper_remove_now(int fs_fd, const char *name); /* in this process; 0 when it is gone, -errno */
