/* SPDX-License-Identifier: Apache-2.0 */
/* bell: by which the init of a running sandbox asks for a seed, a copy of its template's zygote.
 *
 * The bell is a listening socket in the sandbox's network namespace. The warden accepts nothing on it: when it becomes
 * readable, a child does the rest (engine->seed()). A sandbox may ring at will, so seeds are made one at a time, with a
 * pause between two, first for those that had the fewest lately; a sandbox has one at most, and gets four at once and
 * then one every five seconds. The bell of one that waits is not watched.
 *
 * It is closed while the sandbox is frozen, and a seed that is being made or is there is killed: a checkpoint must not
 * meet a process that is about to join. */
#pragma once

struct unit;
struct warden;

void bell_open(struct unit *sb);   /* if it runs and is not frozen; nothing depends on its success */
void bell_close(struct unit *sb);  /* and kills its seed; idempotent */
int bells_begin(struct warden *w); /* -ENOMEM */
void bells_tick(struct warden *w); /* opens those that could not be opened */
void bells_end(struct warden *w);  /* after all units are freed */
