/* SPDX-License-Identifier: Apache-2.0 */
/* ops: the handlers of most requests. */
#include "warden/ops.h"

#include <string.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/str.h"
#include "ipc/check.h"
#include "warden/audit.h"
#include "warden/certs.h"
#include "warden/front_send.h"
#include "warden/handlers.h"
#include "warden/keeper.h"
#include "warden/link.h"
#include "warden/oom.h"
#include "warden/service/agent.h"
#include "warden/service/egress.h"
#include "warden/service/oidc.h"
#include "warden/service/pull.h"
#include "warden/service/webhooks.h"
#include "warden/slots.h"
#include "warden/unit.h"
#include "warden/unit/freeze.h"
#include "warden/unit/join.h"
#include "warden/unit/limit.h"
#include "warden/unit/network.h"
#include "warden/warden.h"
#include "warden/warm.h"

static struct msg_head head_of(enum msg_type type, uint32_t seq)
{
	return (struct msg_head) { .version = MSG_VERSION, .type = (uint16_t)type, .seq = seq };
}

static void send_out(struct warden *w, const void *msg, size_t n, int fd)
{
	if (w->link)
		link_send(w->link, msg, n, fd);
	else
		fd_close(fd);
}

static void fail(struct warden *w, uint32_t seq, const struct err *e)
{
	front_error(w, w->life, seq, e->no, e->text);
}

/* Returns the running sandbox that the request names, or NULL after sending an error. */
static struct unit *running(struct warden *w, const struct msg_id *m)
{
	struct unit *sb = unit_find(w, m->id);
	struct err e = ERR_INIT;

	if (sb && sb->state == UNIT_RUNNING)
		return sb;
	(void)err_set(&e, ENOENT, "no sandbox '%s'", m->id);
	fail(w, m->head.seq, &e);
	return NULL;
}

static void put_template_limits(const struct config *c, struct msg_welcome *re)
{
	re->n_template_limits = c->n_template_limits;
	for (uint32_t i = 0; i < c->n_template_limits; i++) {
		const struct template_limits *t = &c->template_limits[i];

		memcpy(re->template_limits[i].name, t->name, sizeof t->name);
		re->template_limits[i].defaults = config_limits(t->defaults);
		re->template_limits[i].maxima = config_limits(t->maxima);
	}
}

void op_hello(struct warden *w, const void *msg)
{
	const struct msg_hello *m = msg;
	struct msg_welcome re;

	memset(&re, 0, sizeof re);
	re.head = head_of(RE_HELLO, m->head.seq);
	re.instance = w->instance;
	re.max_sandboxes = (uint32_t)w->cfg.max_sandboxes;
	re.n_templates = w->cfg.n_templates;
	re.builders = w->max_builders;
	re.log_level = w->cfg.log_level;
	re.defaults = config_limits(w->cfg.defaults);
	re.maxima = config_limits(w->cfg.maxima);
	put_template_limits(&w->cfg, &re);
	memcpy(re.templates, w->cfg.templates, sizeof re.templates);
	const char *why_not = w->ops->no_checkpoint(w->engine);

	re.can_checkpoint = !why_not;
	(void)str_copy(re.why_not, sizeof re.why_not, str_of(why_not ? why_not : ""));
	for (uint32_t k = 0; k < ENGINE_KINDS && w->ops->missing; k++) {
		const char *why = w->ops->missing(w->engine, k);

		(void)str_copy(re.engine_why[k], sizeof re.engine_why[k], str_of(why ? why : ""));
	}
	memcpy(re.ticket_secret, w->ticket_secret, sizeof re.ticket_secret);
	send_out(w, &re, sizeof re, -1);
	egress_introduce(w);
	agent_introduce(w);
	webhooks_introduce(w);
	oidc_introduce(w);
}

void op_start(struct warden *w, const void *msg)
{
	const struct msg_start *m = msg;
	struct err e = ERR_INIT;

	if ((m->flags & START_PATIENT) && warm_busy(w->warm, m->template_key)) {
		(void)err_set(&e, EAGAIN, "the template is being warmed");
		fail(w, m->head.seq, &e);
		return;
	}
	if ((m->flags & START_IMAGE) && !m->from[0] && pull_check(w, m->template_key, &e) < 0) {
		fail(w, m->head.seq, &e);
		return;
	}
	if (unit_start(w, m, &e) < 0) /* on success the answer is sent when it runs */
		fail(w, m->head.seq, &e);
}

void op_kill(struct warden *w, const void *msg)
{
	const struct msg_id *m = msg;
	struct unit *sb = unit_find(w, m->id);
	struct err e = ERR_INIT;

	if (!sb || sb->state == UNIT_ENDING) {
		(void)err_set(&e, ENOENT, "no sandbox '%s'", m->id);
		fail(w, m->head.seq, &e);
		return;
	}
	log_info("kill", "id=%s request=%s", m->id, m->request);
	unit_kill(sb);
	front_ok(w, w->life, m->head.seq);
}

void op_freeze(struct warden *w, const void *msg)
{
	const struct msg_id *m = msg;
	struct unit *sb = running(w, m);

	if (!sb)
		return;
	log_info("freeze", "id=%s request=%s", m->id, m->request);
	unit_freeze(sb, m->head.seq);
}

void op_thaw(struct warden *w, const void *msg)
{
	const struct msg_id *m = msg;
	struct unit *sb = running(w, m);

	if (!sb)
		return;
	/* Frozen units are spared until the front exits, and killed then: one that runs again would be lost. */
	if (w->stopping && w->cfg.on_stop == STOP_KILL) {
		front_error(w, w->life, m->head.seq, ESHUTDOWN, "the server is stopping");
		return;
	}
	log_info("thaw", "id=%s request=%s", m->id, m->request);
	unit_thaw(sb, m->head.seq);
}

static void keep(struct warden *w, const void *msg)
{
	const struct msg_keep *m = msg;
	struct msg_id who = { .head = m->head };

	memcpy(who.id, m->id, sizeof who.id);
	struct unit *sb = running(w, &who);

	if (!sb)
		return;
	log_info(m->head.type == OP_SNAPSHOT ? "snapshot" : "checkpoint", "id=%s name=%s request=%s", m->id, m->name,
	    m->request);
	keeper_begin(sb, m);
}

void op_snapshot(struct warden *w, const void *msg)
{
	keep(w, msg);
}

void op_checkpoint(struct warden *w, const void *msg)
{
	keep(w, msg);
}

void op_forget(struct warden *w, const void *msg)
{
	const struct msg_name *m = msg;
	struct err e = ERR_INIT;

	log_info("forget", "name=%s request=%s", m->name, m->request);
	if (keeper_writes(w, m->name)) /* otherwise it would exist again in a moment */
		(void)err_set(&e, EAGAIN, "'%s' is being written", m->name);
	if (e.no || w->ops->forget(w->engine, m->name, &e) < 0)
		fail(w, m->head.seq, &e);
	else
		front_ok(w, w->life, m->head.seq);
}

struct kept_list {
	struct warden *w;
	uint32_t seq;
};

static void send_kept(void *arg, const char *name, bool disk, bool memory)
{
	const struct kept_list *l = arg;
	struct msg_kept item;

	memset(&item, 0, sizeof item);
	item.head = head_of(RE_KEPT_ITEM, l->seq);
	item.disk = disk;
	item.memory = memory;
	if (str_copy(item.name, sizeof item.name, str_of(name)) && check_id(item.name))
		send_out(l->w, &item, sizeof item, -1);
}

void op_kept(struct warden *w, const void *msg)
{
	const struct msg_list *m = msg;
	struct kept_list l = { w, m->head.seq };
	struct err e = ERR_INIT;

	if (w->ops->kept(w->engine, send_kept, &l, &e) < 0)
		fail(w, m->head.seq, &e);
	else
		front_ok(w, w->life, m->head.seq);
}

void op_connect(struct warden *w, const void *msg)
{
	const struct msg_id *m = msg;
	struct unit *sb = running(w, m);
	struct msg_ok re = { .head = head_of(RE_OK, m->head.seq) };
	struct err e = ERR_INIT;
	int fd = -1;

	if (!sb)
		return;
	log_debug("connect", "id=%s request=%s", m->id, m->request);
	int r = w->ops->connect(w->engine, &sb->er, sb->pidfd, &fd, &e);

	if (r == ENGINE_GREET)
		r = unit_join(sb, m->head.seq, fd, 0, &e);
	else if (r == 0)
		send_out(w, &re, sizeof re, fd);
	if (r < 0)
		fail(w, m->head.seq, &e);
}

void op_dial(struct warden *w, const void *msg)
{
	const struct msg_dial *m = msg;
	struct msg_id who = { .head = m->head };
	struct msg_ok re = { .head = head_of(RE_OK, m->head.seq) };
	struct err e = ERR_INIT;
	int fd = -1;

	memcpy(who.id, m->id, sizeof who.id);
	struct unit *sb = running(w, &who);

	if (!sb)
		return;
	log_debug("dial", "id=%s port=%u family=%u request=%s", m->id, m->port, m->family, m->request);
	int r = w->ops->dial(w->engine, &sb->er, sb->pidfd, m->port, m->family == DIAL_V6, &fd, &e);

	if (r == ENGINE_GREET)
		r = unit_join(sb, m->head.seq, fd, m->port, &e);
	else if (r == 0)
		send_out(w, &re, sizeof re, fd);
	if (r < 0)
		fail(w, m->head.seq, &e);
}

void op_list(struct warden *w, const void *msg)
{
	const struct msg_list *m = msg;

	const struct unit *sb;

	LIST_FOREACH(sb, &w->units, all)
	{
		struct msg_sandbox item;

		if (sb->state != UNIT_RUNNING)
			continue;
		memset(&item, 0, sizeof item);
		item.head = head_of(RE_LIST_ITEM, m->head.seq);
		memcpy(item.id, sb->er.spec.id, sizeof item.id);
		memcpy(item.template_key, sb->er.spec.template_key, sizeof item.template_key);
		item.frozen = sb->frozen;
		item.engine = (uint8_t)sb->er.spec.kind;
		item.started_wall_ms = sb->er.started_wall_ms;
		item.limits = limits_to_msg(&sb->er.spec.limits);
		send_out(w, &item, sizeof item, -1);
	}
	front_ok(w, w->life, m->head.seq);
}

void op_usage(struct warden *w, const void *msg)
{
	const struct msg_id *m = msg;
	struct unit *sb = running(w, m);
	struct engine_usage us = { 0 };
	struct err e = ERR_INIT;

	if (!sb)
		return;
	if (w->ops->usage(w->engine, &sb->er, &us, &e) < 0) {
		fail(w, m->head.seq, &e);
		return;
	}
	unit_used(sb, &us);
	oom_seen(sb, us.oom_kills);
	struct msg_usage re = {
		.head = head_of(RE_USAGE, m->head.seq),
		.mem_bytes = us.mem_bytes,
		.mem_cache_bytes = us.mem_cache_bytes,
		.mem_limit_bytes = sb->er.spec.limits.mem_bytes,
		.cpu_ns = us.cpu_ns,
		.disk_bytes = us.disk_bytes,
		.disk_limit_bytes = sb->er.spec.limits.disk_bytes,
		.all_bytes = us.all_bytes,
		.sent_bytes = us.sent_bytes,
		.received_bytes = us.received_bytes,
		.pids = us.pids,
		.oom_kills = us.oom_kills,
	};

	memcpy(re.id, sb->er.spec.id, sizeof re.id);
	send_out(w, &re, sizeof re, -1);
}

void op_room(struct warden *w, const void *msg)
{
	const struct msg_list *m = msg;
	struct engine_room room = { 0 };

	if (w->ops->room)
		w->ops->room(w->engine, &room);
	struct msg_room re = {
		.head = head_of(RE_ROOM, m->head.seq),
		.slots = w->n_slots,
		.slots_used = w->n_sandboxes,
		.mem_bytes = room.mem_bytes,
		.pids = room.pids,
		.pids_used = room.pids_used,
		.storage_bytes = room.storage_bytes,
		.storage_free_bytes = room.storage_free_bytes,
		.storage_grow_bytes = room.storage_grow_bytes,
	};

	send_out(w, &re, sizeof re, -1);
}

void op_limit(struct warden *w, const void *msg)
{
	const struct msg_limit *m = msg;
	struct msg_id who = { .head = m->head };
	struct err e = ERR_INIT;

	memcpy(who.id, m->id, sizeof who.id);
	struct unit *sb = running(w, &who);

	if (!sb)
		return;
	log_info("limit", "id=%s memory=%llu disk=%llu cpu=%u pids=%u request=%s", m->id,
	    (unsigned long long)m->limits.mem_bytes, (unsigned long long)m->limits.disk_bytes, m->limits.cpu_permille,
	    m->limits.pids, m->request);
	if (unit_limit(sb, m->head.seq, &m->limits, &e) < 0)
		fail(w, m->head.seq, &e);
}

void op_network(struct warden *w, const void *msg)
{
	const struct msg_network *m = msg;
	struct msg_id who = { .head = m->head };
	struct err e = ERR_INIT;

	memcpy(who.id, m->id, sizeof who.id);
	struct unit *sb = running(w, &who);

	if (!sb)
		return;
	log_info("network", "id=%s flags=%u policy=%u request=%s", m->id, m->flags, m->n_policy, m->request);
	if (unit_network(sb, m->head.seq, m->flags & NETWORK_NO_INTERNET, m + 1, m->n_policy, &e) < 0)
		fail(w, m->head.seq, &e);
}

void op_serves(struct warden *w, const void *msg)
{
	const struct msg_list *m = msg;

	front_ok(w, w->life, m->head.seq);
}

void op_log_level(struct warden *w, const void *msg)
{
	const struct msg_level *m = msg;

	w->cfg.log_level = (enum log_level)m->level;
	log_set_level(w->cfg.log_level);
	log_info("log level set", "level=%u", m->level);
	front_ok(w, w->life, m->head.seq);
}

void op_tls_file(struct warden *w, const void *msg)
{
	const struct msg_tls_file *m = msg;
	struct msg_ok re = { .head = head_of(RE_OK, m->head.seq) };
	struct err e = ERR_INIT;
	int fd = -1;

	if (certs_open(&w->cfg, (enum tls_file)m->which, &fd, &e) < 0)
		fail(w, m->head.seq, &e);
	else
		send_out(w, &re, sizeof re, fd);
}

void op_audit(struct warden *w, const void *msg)
{
	const struct msg_audit *m = msg;
	struct msg_audit_file re = { .head = head_of(RE_AUDIT, m->head.seq) };
	struct err e = ERR_INIT;
	int fd = -1;

	if (m->what == AUDIT_DROP) {
		if (audit_drop(&w->cfg, m->n, &e) < 0)
			fail(w, m->head.seq, &e);
		else
			front_ok(w, w->life, m->head.seq);
	} else if (audit_open(&w->cfg, m->n, &re, &fd, &e) < 0) {
		fail(w, m->head.seq, &e);
	} else {
		send_out(w, &re, sizeof re, fd);
	}
}

static void (*const handlers[OP_COUNT])(struct warden *w, const void *msg) = {
#define REQUEST(type, name, ...) [type] = op_##name,
#include "ipc/messages.tbl"
};

void ops_run(struct warden *w, enum msg_type type, const void *msg)
{
	handlers[type](w, msg);
}
