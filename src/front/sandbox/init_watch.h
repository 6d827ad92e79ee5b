/* SPDX-License-Identifier: Apache-2.0 */
/* front/sandbox/init_watch: streams process events from the init of a sandbox into the log of that sandbox.
 *
 * A watch begins when a sandbox starts to run or is used, and ends when the sandbox stops running. The number of
 * watches is limited; a new one replaces the least recently used. Events are text from inside the sandbox: their
 * size is limited, and they are only displayed. After an interruption init sends the events that it remembers
 * again; those already in the log are skipped. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct init_watch;
struct sandbox;

void init_watch_use(struct sandbox *sb); /* called on each use of the sandbox; begins a watch if there is none */
/* reads what has arrived, then ends the watch; does nothing if there is none */
void init_watch_end(struct sandbox *sb);

/* Calls fn once all events up to now are in the log, or after a timeout. fn may be called from inside. */
void init_watch_sync(struct sandbox *sb, void (*fn)(void *user), void *user);
