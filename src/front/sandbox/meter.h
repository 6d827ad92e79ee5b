/* SPDX-License-Identifier: Apache-2.0 */
/* front/sandbox/meter: counts for how long sandboxes run and what they send, for the report of usage. A paused one does
 * not count; one that is being paused does until it is, and so does one that a snapshot is made of: it is the same run,
 * as the log of events has it.
 *
 * Time is taken from the clock that nobody sets; the wall clock only says which day it belongs to. It is noted every
 * half minute, so that no more than that is lost with the machine. With the front nothing is: the next one goes on
 * where this one stopped. */
#pragma once

#include <stdint.h>

struct front;
struct sandbox;

#define METER_EVERY_S 30
#define METER_KEPT_DAYS 400

void meter_start(struct sandbox *sb);                     /* it runs from now on */
void meter_load(struct sandbox *sb);                      /* of an earlier front: what has been noted of it */
void meter_adopt(struct sandbox *sb);                     /* it has been running since before this front */
void meter_note(struct sandbox *sb);                      /* up to now, if it runs; also before its limits change */
void meter_stop(struct sandbox *sb);                      /* ... and no longer */
void meter_sent(struct sandbox *sb, uint64_t sent_bytes); /* what it has sent in this life, so far */
void meter_note_all(struct front *f, const char *team);   /* NULL: of all teams */

uint64_t meter_day_end(uint64_t from_ms, uint64_t until_ms); /* or until_ms, if the day is not over by then */
