/* SPDX-License-Identifier: Apache-2.0 */
/* front/record/events: creates events, writes them to the store and passes them to webhooks. */
#include "front/record/events.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "front/account/keyring.h"
#include "front/account/limits.h"
#include "front/account/usage.h"
#include "front/link/links.h"
#include "front/record/facts.h"
#include "front/record/records.h"
#include "front/record/webhooks.h"
#include "front/util/time_json.h"
#include "front/util/vault.h"
#include "http/json.h"
#include "store/events.h"
#include "store/meter.h"
#include "store/sandboxes.h"

#define DATA_MAX (48 * 1024) /* a delivery must fit into one message, see ipc/webhooks.h */
#define NO_UUID "00000000-0000-0000-0000-000000000000"

/* The object of an event. */
struct subject {
	const char *team, *sandbox, *template, *build; /* build: NULL or "" if not known */
	uint64_t started_us;
	const json_t *metadata;
};

static const struct {
	const char *name, *category, *label; /* the last two as in version 1 of the events */
} types[EVENT_TYPES] = {
	[EVENT_CREATED] = { "sandbox.lifecycle.created", "lifecycle", "create" },
	[EVENT_KILLED] = { "sandbox.lifecycle.killed", "lifecycle", "kill" },
	[EVENT_PAUSED] = { "sandbox.lifecycle.paused", "lifecycle", "pause" },
	[EVENT_RESUMED] = { "sandbox.lifecycle.resumed", "lifecycle", "resume" },
	[EVENT_UPDATED] = { "sandbox.lifecycle.updated", "lifecycle", "update" },
	[EVENT_CHECKPOINTED] = { "sandbox.lifecycle.checkpointed", "lifecycle", "checkpoint" },
	[EVENT_THRESHOLD] = { "sandbox.resource.threshold", "resource", "threshold" },
	[EVENT_TEST] = { "webhook.test", "webhook", "test" },
};

const char *event_type_name(enum event_type t)
{
	return types[t].name;
}

int event_type_find(struct str name)
{
	for (int i = 0; i < EVENT_TYPES; i++) {
		if (str_is(name, types[i].name))
			return i;
	}
	return -ENOENT;
}

/* The same for all events of one run, also after a restart of the front: it is derived from the start time of the
 * run. */
static void execution_id(const struct records *rs, const struct subject *s, char ret[TEAM_ID_SIZE])
{
	autofree char *label = str_fmt("execution %s %llu", s->sandbox, (unsigned long long)s->started_us);
	uint8_t b[VAULT_SEED_SIZE] = { 0 };

	if (label)
		vault_derive(rs->link->vault, str_of(label), b);
	uuid_put(b, 4, ret);
}

/* Metadata too long for a message is left out, with a note. */
static void put_data(json_t *data, const json_t *metadata, struct buf *out)
{
	if (metadata)
		(void)json_object_set(data, "sandbox_metadata", (json_t *)metadata);
	json_put(out, data);
	if (!out->bad)
		return;
	(void)json_object_del(data, "sandbox_metadata");
	(void)json_object_set_new(data, "sandbox_metadata_omitted", json_true());
	buf_clear(out);
	json_put(out, data);
}

/* Takes ownership of data. */
static int note(struct records *rs, const struct subject *s, enum event_type t, uint64_t at_ms, json_t *data,
    uint64_t *ret_seq)
{
	autobuf struct buf text = BUF_INIT(DATA_MAX);
	char id[TEAM_ID_SIZE], execution[TEAM_ID_SIZE] = NO_UUID;
	struct err e = ERR_INIT;
	autojson json_t *o = data ? data : json_object();

	uuid_make(id);
	if (s->started_us)
		execution_id(rs, s, execution);
	put_data(o, s->metadata, &text);

	struct event_row row = {
		.id = id,
		.team = s->team,
		.sandbox = s->sandbox,
		.type = types[t].name,
		.at_ms = at_ms,
		.execution = execution,
		.template = s->template,
		.build = s->build && *s->build ? s->build : NO_UUID,
		.data = buf_cstr(&text),
	};

	if (!row.data || events_add(rs->link->store, &row, ret_seq, &e) < 0) {
		log_warn("could not record an event", "id=%s type=%s err=%s", s->sandbox, row.type, e.text);
		return -EIO;
	}
	return 0;
}

static json_t *execution_json(uint64_t started_us, const struct msg_limits *lim, uint64_t at_ms)
{
	uint64_t began_ms = started_us / 1000;

	return json_pack("{s:o,s:I,s:I,s:I}", "started_at", time_json(began_ms), "vcpu_count",
	    (json_int_t)usage_cpus(lim), "memory_mb", (json_int_t)(lim->mem_bytes >> 20), "execution_time",
	    (json_int_t)(at_ms > began_ms ? at_ms - began_ms : 0));
}

uint64_t event_note(struct records *rs, const struct sandbox_facts *sb, enum event_type t, json_t *data)
{
	struct subject s = { sb->team, sb->id, sb->template_id, sb->build, sb->started_us, sb->metadata };
	bool begins = t == EVENT_CREATED || t == EVENT_RESUMED, ends = t == EVENT_PAUSED || t == EVENT_KILLED;
	uint64_t at_ms = begins ? sb->started_us / 1000 : clock_wall_ms(), seq;

	if (!data)
		data = json_object();
	if (begins) /* so that the event log alone shows its limits */
		(void)json_object_set_new(data, "limits", limits_json(sb->limits));
	if (ends)
		(void)json_object_set_new(data, "execution",
		    execution_json(sb->started_us, sb->limits,
			t == EVENT_KILLED && sb->stopped_ms ? sb->stopped_ms : at_ms));
	if (note(rs, &s, t, at_ms, data, &seq) == 0)
		webhooks_push(rs->webhooks, sb->team, t, seq);
	return at_ms;
}

/* The end of the run is known only as far as it was metered. */
void event_note_lost(struct records *rs, const struct sandbox_row *row, bool restarted)
{
	autojson json_t *metadata = row->metadata ? json_loads(row->metadata, 0, NULL) : NULL;
	struct subject s = { row->team, row->id, row->template_id, row->build, row->started_us, metadata };
	struct msg_limits lim = { .mem_bytes = row->limits.mem_bytes, .cpu_permille = row->limits.cpu_permille };
	uint64_t at_ms = clock_wall_ms(), seq;
	struct err e;

	if (row->state == ROW_PAUSED)
		at_ms = row->end_ms;
	else
		(void)meter_last(rs->link->store, row->id, &at_ms, &e);

	json_t *data = json_pack("{s:s,s:o}", "kill_reason", restarted ? "host_restarted" : "lost", "execution",
	    execution_json(row->started_us, &lim, at_ms));

	if (note(rs, &s, EVENT_KILLED, at_ms, data, &seq) == 0)
		webhooks_push(rs->webhooks, row->team, EVENT_KILLED, seq);
}

int event_note_test(struct records *rs, const char *team, uint64_t *ret_seq)
{
	struct subject s = { .team = team, .sandbox = "", .template = "" };

	return note(rs, &s, EVENT_TEST, clock_wall_ms(), json_pack("{s:s}", "message", "a test of this webhook"),
	    ret_seq);
}

json_t *event_json(const struct event_row *row)
{
	int t = event_type_find(str_of(row->type));
	json_t *data = json_loads(row->data, 0, NULL);

	return json_pack("{s:s,s:s,s:s,s:o,s:s,s:s,s:o,s:s,s:s,s:s,s:s,s:s}", "version", "v2", "id", row->id, "type",
	    row->type, "timestamp", time_json(row->at_ms), "event_category", t < 0 ? "" : types[t].category,
	    "event_label", t < 0 ? "" : types[t].label, "event_data", data ? data : json_object(), "sandbox_id",
	    row->sandbox, "sandbox_execution_id", row->execution, "sandbox_template_id", row->template,
	    "sandbox_build_id", row->build, "sandbox_team_id", row->team);
}
