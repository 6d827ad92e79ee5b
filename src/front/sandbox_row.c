/* SPDX-License-Identifier: Apache-2.0 */
/* front/sandbox_row: which field of a sandbox goes into which column. */
#include "front/sandbox_row.h"

#include <jansson.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/log.h"
#include "front/front.h"
#include "front/sandbox.h"
#include "http/json.h"
#include "ipc/check.h"

#define JSON_MAX (2 * 1024 * 1024)	/* the body of a request is smaller */

/* NULL stays NULL. */
static const char *to_text(const json_t *j, struct buf *out)
{
	if (!j)
		return NULL;
	json_put(out, j);
	return buf_cstr(out);
}

static const char *or_null(const char *z)
{
	return *z ? z : NULL;
}

int row_add(struct sandbox *sb, enum row_state state, struct err *e)
{
	autobuf struct buf metadata = BUF_INIT(JSON_MAX);
	autobuf struct buf env = BUF_INIT(JSON_MAX);
	autobuf struct buf network = BUF_INIT(JSON_MAX);
	const struct spec *sp = &sb->spec;
	struct sandbox_row row = {
		.id = sb->id,
		.team = sb->team,
		.template_id = sp->tpl.id,
		.template_name = sp->tpl.name,
		.template_key = sp->tpl.key,
		.state = state,
		.created_ms = sb->created_ms,
		.started_us = sb->started_us,
		.end_ms = sb->end_ms,
		.active_ms = sb->active_ms,
		.timeout_s = sp->timeout_s,
		.flags = sp->flags,
		.mem_bytes = sp->limits.mem_bytes,
		.disk_bytes = sp->limits.disk_bytes,
		.cpu_permille = sp->limits.cpu_permille,
		.pids = sp->limits.pids,
		.envd_token = or_null(sb->envd_token),
		.traffic_token = or_null(sb->traffic_token),
		.metadata = to_text(sp->metadata, &metadata),
		.env_vars = to_text(sp->env_vars, &env),
		.network = to_text(sp->network, &network),
	};

	if (metadata.bad || env.bad || network.bad)
		return err_set(e, E2BIG, "metadata, envVars or network is too large");
	if (sandboxes_add(sb->front->store, &row, e) < 0)
		return -e->no;
	sb->noted = true;
	return 0;
}

static int load_object(const char *text, json_t **ret)
{
	if (!text)
		return 0;
	*ret = json_loads(text, 0, NULL);
	return json_is_object(*ret) ? 0 : -EINVAL;
}

int row_load(struct sandbox *sb, const struct sandbox_row *row)
{
	struct spec *sp = &sb->spec;
	struct err e;

	if (!str_copy(sb->id, sizeof sb->id, str_of(row->id)) || !check_id(sb->id) ||
	    !str_copy(sb->team, sizeof sb->team, str_of(row->team)) ||
	    !str_copy(sp->tpl.id, sizeof sp->tpl.id, str_of(row->template_id)) ||
	    !str_copy(sp->tpl.name, sizeof sp->tpl.name, str_of(row->template_name)) ||
	    !str_copy(sp->tpl.key, sizeof sp->tpl.key, str_of(row->template_key)) ||
	    !str_copy(sb->envd_token, sizeof sb->envd_token, str_of(row->envd_token ? row->envd_token : "")) ||
	    !str_copy(sb->traffic_token, sizeof sb->traffic_token, str_of(row->traffic_token ? row->traffic_token : "")))
		return -EINVAL;
	sb->noted = true;
	sp->timeout_s = row->timeout_s;
	sp->flags = row->flags;
	sp->limits = (struct msg_limits) { row->mem_bytes, row->disk_bytes, row->cpu_permille, row->pids };
	if (row->kept_name && !(str_copy(sb->kept.name, sizeof sb->kept.name, str_of(row->kept_name)) && check_id(sb->kept.name)))
		return -EINVAL;
	sb->kept.what = row->kept_name ? row->kept : 0;
	sb->created_ms = row->created_ms;
	sb->started_us = row->started_us;
	sb->end_ms = row->end_ms;
	sb->active_ms = sb->noted_active_ms = row->active_ms ? row->active_ms : row->started_us / 1000;

	/* A token that got lost must not open the sandbox to everybody. */
	if (((sp->flags & SPEC_SECURE) && !*sb->envd_token) || ((sp->flags & SPEC_PRIVATE_TRAFFIC) && !*sb->traffic_token))
		return -EINVAL;
	if (load_object(row->metadata, &sp->metadata) < 0 || load_object(row->env_vars, &sp->env_vars) < 0)
		return -EINVAL;

	json_t *network = NULL;
	int r = load_object(row->network, &network);

	if (r == 0 && network)
		r = spec_network(network, sp, &e);
	json_decref(network);
	return r < 0 ? -EINVAL : 0;
}

static void complain(const struct sandbox *sb, const struct err *e)
{
	log_warn("could not write the record of a sandbox, going on", "id=%s err=%s", sb->id, e->text);
}

void row_set(const struct sandbox *sb, enum row_state state)
{
	struct sandbox_row row = {
		.id = sb->id, .state = state, .started_us = sb->started_us, .end_ms = sb->end_ms, .flags = sb->spec.flags,
		.kept_name = or_null(sb->kept.name), .kept = sb->kept.what,
	};
	struct err e;

	if (sandboxes_set(sb->front->store, &row, &e) < 0)
		complain(sb, &e);
}

void row_save(const struct sandbox *sb)
{
	row_set(sb, sb->state == SANDBOX_PAUSED ? ROW_PAUSED : sb->state == SANDBOX_STARTING ? ROW_STARTING : ROW_RUNNING);
}

void row_set_network(const struct sandbox *sb)
{
	autobuf struct buf network = BUF_INIT(JSON_MAX);
	struct err e;

	if (sandboxes_set_network(sb->front->store, sb->id, sb->spec.flags, to_text(sb->spec.network, &network), &e) < 0)
		complain(sb, &e);
}

void row_note_active(struct sandbox *sb)
{
	struct err e;

	uint64_t active_ms = sandbox_active_ms(sb);

	if (active_ms == sb->noted_active_ms)
		return;
	sb->noted_active_ms = active_ms;
	if (sandboxes_set_active(sb->front->store, sb->id, active_ms, &e) < 0)
		complain(sb, &e);
}

void row_end(const struct sandbox *sb, const char *reason)
{
	struct err e;

	if (sb->noted && sandboxes_end(sb->front->store, sb->id, clock_wall_ms(), reason, &e) < 0)
		complain(sb, &e);
}
