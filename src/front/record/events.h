/* SPDX-License-Identifier: Apache-2.0 */
/* front/record/events: lifecycle events of sandboxes in the format of E2B: stored for a while, listed, and sent to
 * webhooks. */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "base/str.h"

struct event_row;
struct records;
struct sandbox_facts;
struct sandbox_row;

enum event_type {
	EVENT_CREATED,
	EVENT_KILLED,
	EVENT_PAUSED,
	EVENT_RESUMED,
	EVENT_UPDATED,
	EVENT_CHECKPOINTED,
	EVENT_THRESHOLD, /* near a limit, see front/account/alerts.h; not in E2B */
	EVENT_TEST,      /* test of a webhook; concerns no sandbox */
	EVENT_TYPES,
};

const char *event_type_name(enum event_type t);
int event_type_find(struct str name); /* -ENOENT */

/* Records an event that happens now, and returns its time (wall clock). data: an object, ownership is taken; NULL:
 * none. For a sandbox of the sandbox floor see sandbox_event(). */
uint64_t event_note(struct records *rs, const struct sandbox_facts *sb, enum event_type t, json_t *data);
/* The sandbox ended while the front was down. restarted: because the host was rebooted. */
void event_note_lost(struct records *rs, const struct sandbox_row *row, bool restarted);
int event_note_test(struct records *rs, const char *team, uint64_t *ret_seq);

json_t *event_json(const struct event_row *row);
