/* SPDX-License-Identifier: Apache-2.0 */
/* front/sandbox/facts: what the records learn of a sandbox. */
#include "front/sandbox/facts.h"

#include "front/record/audit_acts.h"
#include "front/record/notebook.h"
#include "front/sandbox/sandbox.h"
#include "front/sandbox/sandboxes.h"

struct sandbox_facts sandbox_facts(const struct sandbox *sb)
{
	return (struct sandbox_facts) {
		.id = sb->id,
		.team = sb->team,
		.key = sb->key,
		.request = sb->request,
		.template_id = sb->spec.tpl.id,
		.template_name = sb->spec.tpl.name,
		.build = sb->spec.tpl.build,
		.limits = &sb->spec.limits,
		.metadata = sb->spec.metadata,
		.env_vars = sb->spec.env_vars,
		.timeout_s = sb->spec.timeout_s,
		.created_ms = sb->created_ms,
		.started_us = sb->started_us,
		.stopped_ms = sb->stopped_ms,
	};
}

void sandbox_event(struct sandbox *sb, enum event_type t, json_t *data)
{
	const struct sandbox_facts of = sandbox_facts(sb);
	uint64_t at_ms = event_note(sb->all->record, &of, t, data);

	if (t == EVENT_CREATED || t == EVENT_RESUMED)
		sb->stopped_ms = 0;
	else if (t == EVENT_PAUSED)
		sb->stopped_ms = at_ms;
}

void sandbox_record_life(struct sandbox *sb, const char *kind)
{
	const struct sandbox_facts of = sandbox_facts(sb);

	audit_life(sb->all->record, &of, kind);
}

void sandbox_record_end(struct sandbox *sb, const char *reason)
{
	const struct sandbox_facts of = sandbox_facts(sb);
	const struct usage_sample *s;
	uint64_t peak = 0;

	for (size_t i = 0; (s = usage_get(&sb->usage, i)); i++)
		peak = s->mem_bytes > peak ? s->mem_bytes : peak;
	audit_ended(sb->all->record, &of, sb->state != SANDBOX_STARTING, peak, reason);
	notebook_end(sb->all->record, &of);
}
