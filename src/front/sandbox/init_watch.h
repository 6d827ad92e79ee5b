/* SPDX-License-Identifier: Apache-2.0 */
/* front/sandbox/init_watch: listening to what the init of a sandbox tells of the processes that are started in it, for
 * its log.
 *
 * It begins when a sandbox starts to run or is used and ends with its running; how many there are at once is bounded,
 * those used longest ago give way. What is told is text from inside: it is bounded, and only shown. After an
 * interruption init tells what it remembers again, from which what is known already is left out. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct init_watch;
struct sandbox;

#define EVENT_KEYS 8

struct event_mark {                /* what of it the log has */
	uint64_t at_ms;            /* of the newest, by the clock of init */
	uint64_t keys[EVENT_KEYS]; /* which of that very millisecond */
	unsigned n_keys;
	bool known;
};

void init_watch_use(struct sandbox *sb); /* somebody calls into it: begins, if there is none yet */
void init_watch_end(struct sandbox *sb); /* takes what has arrived, then stops; fine when there is none */

/* Calls fn once all that has happened until now is in the log, or when that takes too long: at once, or later. */
void init_watch_sync(struct sandbox *sb, void (*fn)(void *user), void *user);
