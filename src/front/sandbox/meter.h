/* SPDX-License-Identifier: Apache-2.0 */
/* front/sandbox/meter: counts the running time and the egress of sandboxes for the usage report. A paused sandbox
 * does not count. One that is being paused counts until it is PAUSED, and one being snapshotted counts throughout,
 * because the event log shows it as one run.
 *
 * Durations come from the monotonic clock; the wall clock only decides which day they belong to. They are written
 * every half minute, so that a crash of the machine loses at most that much. A restart of the front loses nothing:
 * the next front continues from the last value. */
#pragma once

#include <stdint.h>

struct sandboxes;
struct sandbox;

#define METER_EVERY_S 30

void meter_start(struct sandbox *sb); /* it starts to run now */
void meter_load(struct sandbox *sb);  /* loads what an earlier front has written about it */
void meter_adopt(struct sandbox *sb); /* it has been running since before this front started */
/* writes its use up to now, if it runs; call it before its limits change, too */
void meter_note(struct sandbox *sb);
void meter_stop(struct sandbox *sb);                          /* writes its use and stops counting */
void meter_sent(struct sandbox *sb, uint64_t sent_bytes);     /* total bytes sent since its last start */
void meter_note_all(struct sandboxes *all, const char *team); /* team NULL: all teams */

/* end of the day of from_ms, or until_ms if that is earlier */
uint64_t meter_day_end(uint64_t from_ms, uint64_t until_ms);
