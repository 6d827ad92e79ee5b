/* SPDX-License-Identifier: Apache-2.0 */
/* pace: limits how often the output of commands is read.
 *
 * A command chooses how small the pieces are that it prints. Each read wakes it, and its next piece wakes init: without
 * a limit the two switch a processor back and forth tens of thousands of times per second. That costs more time than
 * the data itself, and some kernels (docs/limits.md) then let other sandboxes wait for as long as it lasts.
 *
 * Each read costs credit, time returns it. What prints little never waits. Once the credit is used up, output rests
 * until enough has returned for another series of reads; the data waits in its pipe meanwhile, and the next read takes
 * all of it.
 *
 * A read costs a quarter more than the time it takes, so that init gives the processor back after some milliseconds
 * even if it never runs out of data. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct pace {            /* of all commands of a sandbox; zeroed: full credit */
	uint64_t at_us;  /* when used_us was computed */
	int64_t used_us; /* credit that has not returned yet */
};

#define PACE_READ_US 125       /* the least cost of one read, */
#define PACE_READ_MOST_US 1000 /* and the most: init may have waited for the processor itself */
#define PACE_BURST_US 4000     /* the credit */
#define PACE_REST_MS 1         /* the length of a rest */

bool pace_take(struct pace *p, uint64_t now_us); /* before a read; false: rest for PACE_REST_MS */
void pace_done(struct pace *p, uint64_t now_us); /* after it */
