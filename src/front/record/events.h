/* SPDX-License-Identifier: Apache-2.0 */
/* front/record/events: what happens to sandboxes, in the form of E2B's lifecycle events: kept for a while, listed, and
 * told to webhooks. */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "base/str.h"

struct event_row;
struct front;
struct sandbox;
struct sandbox_row;

enum event_type {
	EVENT_CREATED,
	EVENT_KILLED,
	EVENT_PAUSED,
	EVENT_RESUMED,
	EVENT_UPDATED,
	EVENT_CHECKPOINTED,
	EVENT_THRESHOLD, /* near a limit, see front/account/alerts.h; E2B has none such */
	EVENT_TEST,      /* of a webhook; about no sandbox */
	EVENT_TYPES,
};

const char *event_type_name(enum event_type t);
int event_type_find(struct str name); /* -ENOENT */

/* Something happened to it, now. data: an object, taken; NULL: nothing more to say. */
void event_note(struct sandbox *sb, enum event_type t, json_t *data);
/* it has ended while no front was there; with the host? */
void event_note_lost(struct front *f, const struct sandbox_row *row, bool restarted);
int event_note_test(struct front *f, const char *team, uint64_t *ret_seq);

json_t *event_json(const struct event_row *row);
