/* SPDX-License-Identifier: Apache-2.0 */
/* front/sandbox/meter: writes the running time of sandboxes to the store. */
#include "front/sandbox/meter.h"

#include <stdint.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "front/link/links.h"
#include "front/sandbox/sandbox.h"
#include "front/sandbox/sandboxes.h"
#include "front/sandbox/table.h"
#include "http/json.h"
#include "store/meter.h"

#define DAY_MS (24ull * 3600 * 1000)
#define MIB (1024 * 1024)
#define METADATA_MAX (2 * 1024 * 1024) /* larger than any request body */

uint64_t meter_day_end(uint64_t from_ms, uint64_t until_ms)
{
	uint64_t midnight = (from_ms / DAY_MS + 1) * DAY_MS;

	return midnight < until_ms ? midnight : until_ms;
}

/* Adds a period that ends at until_ms and lies within one day. */
static void add(const struct sandbox *sb, uint64_t until_ms, uint64_t ms, uint64_t sent, const char *metadata)
{
	const struct msg_limits *lim = &sb->spec.limits;
	struct meter_row row = {
		.sandbox = sb->id,
		.team = sb->team,
		.key = sb->key,
		.template = sb->spec.tpl.name,
		.metadata = metadata,
		.day = (until_ms - (ms > 0)) / DAY_MS,
		.running_ms = ms,
		.cpu_permille_ms = ms * lim->cpu_permille,
		.mib_ms = ms * (lim->mem_bytes / MIB),
		.until_ms = until_ms,
		.sent_bytes = sent,
	};
	struct err e;

	if (meter_add(sb->all->link->store, &row, &e) < 0)
		log_warn("could not record the run time of a sandbox", "id=%s ms=%llu err=%s", sb->id,
		    (unsigned long long)ms, e.text);
}

/* Splits the last ms milliseconds into days. */
static void add_days(struct sandbox *sb, uint64_t now_ms, uint64_t ms)
{
	uint64_t sent = sb->sent_seen - sb->sent_noted;

	autobuf struct buf metadata = BUF_INIT(METADATA_MAX);
	const char *text = NULL;

	if (sb->spec.metadata) {
		json_put(&metadata, sb->spec.metadata);
		text = metadata.bad ? NULL : buf_cstr(&metadata);
	}
	uint64_t at = ms < now_ms ? now_ms - ms : 0, end;

	do {
		end = meter_day_end(at, now_ms);
		add(sb, end, end - at, end == now_ms ? sent : 0, text);
		at = end;
	} while (at < now_ms);
	sb->sent_noted = sb->sent_seen;
}

void meter_start(struct sandbox *sb)
{
	sb->metered_mono_ms = clock_mono_ms();
	add_days(sb, clock_wall_ms(), 0); /* creates a row, so that the next front knows when the run began */
}

void meter_note(struct sandbox *sb)
{
	uint64_t now = clock_mono_ms(), ms = now - sb->metered_mono_ms;

	if (!sb->metered_mono_ms || ms == 0)
		return;
	sb->metered_mono_ms = now;
	add_days(sb, clock_wall_ms(), ms);
}

void meter_stop(struct sandbox *sb)
{
	meter_note(sb);
	sb->metered_mono_ms = 0;
}

void meter_load(struct sandbox *sb)
{
	struct err e;

	if (meter_sent_total(sb->all->link->store, sb->id, &sb->sent_noted, &e) < 0)
		log_warn("could not read the egress of a sandbox", "id=%s err=%s", sb->id, e.text);
	sb->sent_seen = sb->sent_noted;
}

void meter_adopt(struct sandbox *sb)
{
	uint64_t now_ms = clock_wall_ms(), until_ms = now_ms;
	struct err e;

	if (meter_last(sb->all->link->store, sb->id, &until_ms, &e) < 0)
		log_warn("could not read the run time of a sandbox, counting from now", "id=%s err=%s", sb->id, e.text);
	sb->metered_mono_ms = clock_mono_ms();
	if (until_ms < now_ms && until_ms >= sb->started_us / 1000)
		add_days(sb, now_ms, now_ms - until_ms);
}

void meter_sent(struct sandbox *sb, uint64_t sent_bytes)
{
	uint64_t all = sb->sent_before + sent_bytes;
	struct err e;

	if (all <= sb->sent_seen)
		return;
	sb->sent_seen = all;
	if (sb->metered_mono_ms)
		return; /* reported with the next write */
	if (meter_add_sent(sb->all->link->store, sb->id, all - sb->sent_noted, &e) < 0)
		log_warn("could not record the egress of a sandbox", "id=%s err=%s", sb->id, e.text);
	sb->sent_noted = all;
}

void meter_note_all(struct sandboxes *all, const char *team)
{
	for (struct sandbox *sb = sandbox_table_next(all->table, NULL); sb; sb = sandbox_table_next(all->table, sb)) {
		if (!team || strcmp(sb->team, team) == 0)
			meter_note(sb);
	}
}
