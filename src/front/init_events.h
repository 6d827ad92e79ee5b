/* SPDX-License-Identifier: Apache-2.0 */
/* front/init_events: what the init of a sandbox remembers of the processes that were started in it.
 *
 * It is asked when somebody wants to read it. What it says is text from inside: it is bounded, and only shown. */
#pragma once

struct journal;
struct sandbox;

/* Calls fn once with what came, which may be nothing; fn may take over *events. sb is borrowed for the call, and may have
 * ended by then. */
void init_events_get(struct sandbox *sb, const char *request,
	void (*fn)(void *user, struct sandbox *sb, struct journal *events), void *user);
