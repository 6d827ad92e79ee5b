/* SPDX-License-Identifier: Apache-2.0 */
/* front/record/audit_acts: the lifecycle of sandboxes, refused requests into them, and what they were refused. */
#include "front/record/audit_acts.h"

#include <string.h>

#include "audit/chain.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/inet.h"
#include "front/record/audit.h"
#include "front/record/facts.h"
#include "front/record/records.h"
#include "front/util/peer.h"
#include "ipc/msg.h"
#include "ipc/rules.h"

static void set_word(json_t *o, const char *name, const char *z)
{
	if (z && *z && audit_word_valid(str_of(z)))
		(void)json_object_set_new(o, name, json_string(z));
}

void audit_door(struct records *rs, const struct sandbox_facts *sb, const struct http_req *rq, const char *request,
    uint16_t port, const char *why)
{
	const struct audit_who who = { request, sb->team, sb->key, sb->id, NULL };
	char from[PEER_TEXT_SIZE];

	if (!rs->audit)
		return;
	peer_text(rq, from);
	audit_add_limited(rs, AUDIT_AUTH, "auth.failure", &who,
	    json_pack("{s:s,s:s,s:i}", "from", from, "why", why, "port", (int)port));
}

void audit_signature(struct records *rs, const struct http_req *rq, const char *request, const char *why)
{
	const struct audit_who who = { .request = request };
	char from[PEER_TEXT_SIZE];

	if (!rs->audit)
		return;
	peer_text(rq, from);
	audit_add_limited(rs, AUDIT_AUTH, "auth.failure", &who,
	    json_pack("{s:s,s:s,s:s}", "from", from, "why", why, "call", "/files"));
}

static struct audit_who who_has(const struct sandbox_facts *sb)
{
	return (struct audit_who) { sb->request, sb->team, sb->key, sb->id, NULL };
}

void audit_life(struct records *rs, const struct sandbox_facts *sb, const char *kind)
{
	const struct audit_who who = who_has(sb);
	json_t *fields = NULL;

	if (!rs->audit)
		return;
	if (strcmp(kind, "sandbox.started") == 0) {
		fields = json_pack("{s:I}", "timeout_s", (json_int_t)sb->timeout_s);
		set_word(fields, "template", sb->template_name);
	}
	(void)audit_add(rs, kind, &who, fields);
}

void audit_ended(struct records *rs, const struct sandbox_facts *sb, bool started, uint64_t memory_peak,
    const char *reason)
{
	const struct audit_who who = who_has(sb);
	uint64_t now = clock_wall_ms();

	(void)audit_add(rs, started ? "sandbox.ended" : "sandbox.failed", &who,
	    json_pack("{s:s,s:I,s:I}", "reason", reason, "age_ms",
		(json_int_t)(now > sb->created_ms ? now - sb->created_ms : 0), "memory_peak_bytes",
		(json_int_t)memory_peak));
}

void audit_lost(struct records *rs, const char *id, const char *team, const char *reason)
{
	const struct audit_who who = { NULL, team, NULL, id, NULL };

	(void)audit_add(rs, "sandbox.ended", &who, json_pack("{s:s}", "reason", reason));
}

void audit_used(struct records *rs, const char *team, const char *key, const struct msg_exited *m)
{
	const struct audit_who who = { NULL, team, key, m->id, NULL };

	(void)audit_add(rs, "sandbox.usage", &who,
	    json_pack("{s:I,s:I}", "cpu_ms", (json_int_t)(m->cpu_ns / 1000000), "sent_bytes",
		(json_int_t)m->sent_bytes));
}

void audit_syscall(struct records *rs, const struct sandbox_facts *sb, const struct msg_refused *m)
{
	const struct audit_who who = { NULL, sb->team, sb->key, sb->id, NULL };

	audit_add_limited(rs, AUDIT_SYSCALL, "violation.syscall", &who,
	    json_pack("{s:s,s:s,s:i,s:i}", "call", m->call, "process", m->process, "pid", (int)m->pid, "count",
		(int)m->count));
}

void audit_egress(struct records *rs, const struct sandbox_facts *sb, const struct fe_refused *m)
{
	const struct audit_who who = { NULL, sb->team, sb->key, sb->id, NULL };
	char ip[INET_TEXT_SIZE];
	json_t *fields;

	if (!rs->audit)
		return;
	fields = json_pack("{s:s,s:s}", "name", m->name, "why", m->why);
	if (m->ip) {
		(void)json_object_set_new(fields, "address", json_string(inet_text(m->ip, ip)));
		(void)json_object_set_new(fields, "port", json_integer(m->port));
	}
	audit_add_limited(rs, AUDIT_EGRESS, "violation.egress", &who, fields);
}

void audit_blocked(struct records *rs, const struct sandbox_facts *sb, const struct msg_blocked *m, const char *proto)
{
	const struct audit_who who = { NULL, sb->team, sb->key, sb->id, NULL };
	char ip[INET_TEXT_SIZE];

	if (rs->audit)
		audit_add_limited(rs, AUDIT_EGRESS, "violation.egress", &who,
		    json_pack("{s:s,s:s,s:i,s:s}", "why", "refused by policy", "address", inet_text(m->ip, ip), "port",
			(int)m->port, "protocol", proto));
}
