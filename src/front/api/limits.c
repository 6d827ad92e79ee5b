/* SPDX-License-Identifier: Apache-2.0 */
/* front/api/limits: shows and changes the limits of a running sandbox. E2B has no such calls. */
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/log.h"
#include "front/account/accounts.h"
#include "front/account/limits.h"
#include "front/api/api.h"
#include "front/api/handlers.h"
#include "front/api/reply.h"
#include "front/api/request.h"
#include "front/link/links.h"
#include "front/link/warden_link.h"
#include "front/sandbox/facts.h"
#include "front/sandbox/meter.h"
#include "front/sandbox/row.h"
#include "front/sandbox/sandbox.h"
#include "front/sandbox/settle.h"
#include "front/util/mem.h"
#include "http/json.h"

struct change {
	struct req *r;
	struct sandbox *sb;
	struct msg_limits to;
};

static void change_free(struct change *ch)
{
	req_unref(ch->r);
	sandbox_unref(ch->sb);
	free(ch);
}

static void reply_limits(struct req *r, const struct sandbox *sb)
{
	const struct usage_sample *s = usage_get(&sb->usage, sb->usage.n - 1);
	struct limits_range range;
	json_t *used = json_null();

	spec_limits_range(r->api->sandbox, sb->team, sb->key, &sb->spec.tpl, &range);
	if (s)
		used = json_pack("{s:I,s:I,s:I,s:I,s:I}", "memoryMB", (json_int_t)(s->mem_bytes >> 20), "diskMB",
		    (json_int_t)(s->disk_bytes >> 20), "processes", (json_int_t)s->pids, "egressMB",
		    (json_int_t)((sb->sent_before + sb->usage.last_sent) >> 20), "memoryLimitKills",
		    (json_int_t)sb->oom_kills);
	reply_json(r, 200,
	    json_pack("{s:o,s:o,s:o}", "limits", limits_json(&sb->spec.limits), "maxima", limits_json(&range.maxima),
		"used", used),
	    NULL);
}

void api_limits(struct req *r)
{
	struct sandbox *sb = req_sandbox(r);

	if (sb)
		reply_limits(r, sb);
}

static void on_changed(void *user, const struct warden_reply *re)
{
	struct change *ch = user;
	struct sandbox *sb = ch->sb;

	if (sandbox_gone(sb)) {
		reply_no_sandbox(ch->r, str_of(sb->id));
	} else if (re->no == EBUSY) {
		reply_error(ch->r, 409, "the limits stay as they are: %s", re->text);
	} else if (re->no == ENOTSUP) {
		reply_error(ch->r, 400, "the limits stay as they are: %s", re->text);
	} else if (re->no) {
		reply_error(ch->r, 500, "could not change the limits: %s", re->text);
	} else {
		meter_note(sb); /* charges the time with the old limits */
		sb->spec.limits = ch->to;
		row_set_limits(sb);
		sandbox_note(sb, LOG_LVL_INFO, JOURNAL_LIFECYCLE, "limits changed",
		    "memory_mb=%llu cpu_permille=%u processes=%u disk_mb=%llu request=%s",
		    (unsigned long long)(ch->to.mem_bytes >> 20), ch->to.cpu_permille, ch->to.pids,
		    (unsigned long long)(ch->to.disk_bytes >> 20), ch->r->id);
		sandbox_event(sb, EVENT_UPDATED, json_pack("{s:o}", "limits", limits_json(&sb->spec.limits)));
		reply_limits(ch->r, sb);
	}
	change_free(ch);
}

void api_limits_set(struct req *r)
{
	struct sandbox *sb = req_sandbox(r);
	autojson json_t *body = sb ? req_json(r, false) : NULL;
	struct msg_limit m = { 0 };
	struct limits_range range;
	struct err e;

	if (!body)
		return;
	struct msg_limits to = sb->spec.limits;

	spec_limits_range(r->api->sandbox, sb->team, sb->key, &sb->spec.tpl, &range);
	if (limits_read(body, "", &range, &to, &e) < 0) {
		reply_err(r, &e);
		return;
	}
	if (to.open_files != sb->spec.limits.open_files) {
		reply_error(r, 400,
		    "field 'openFiles' cannot be changed while the sandbox runs: it is set before its first program");
		return;
	}
	if (sb->state != SANDBOX_RUNNING) {
		if (sb->state == SANDBOX_PAUSED)
			reply_error(r, 409, "sandbox '%s' is not running", sb->id);
		else
			reply_error(r, 409, "sandbox '%s' is being paused or resumed", sb->id);
		return;
	}

	struct change *ch = must_alloc(sizeof *ch);

	*ch = (struct change) { req_ref(r), sandbox_ref(sb), to };
	memcpy(m.id, sb->id, sizeof m.id);
	memcpy(m.request, r->id, sizeof m.request);
	m.limits = sandbox_limits_to_send(sb, &to);
	(void)warden_ask(r->api->link->warden, OP_LIMIT, &m, sizeof m, on_changed, ch);
}
