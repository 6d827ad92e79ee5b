/* SPDX-License-Identifier: Apache-2.0 */
/* front/sandbox/refusals: entries in the log of the sandbox and in the audit trail. */
#include "front/sandbox/refusals.h"

#include <netinet/in.h>
#include <stdio.h>

#include "base/inet.h"
#include "base/log.h"
#include "front/account/accounts.h"
#include "front/account/metrics.h"
#include "front/link/links.h"
#include "front/record/audit_acts.h"
#include "front/sandbox/facts.h"
#include "front/sandbox/sandbox.h"
#include "front/sandbox/sandboxes.h"
#include "front/sandbox/table.h"
#include "ipc/check.h"
#include "ipc/msg.h"
#include "loop/loop.h"

#define REFUSALS_EVERY_MS 600000
#define REFUSALS_MAX 120 /* log entries per sandbox in that time */

/* Limits the entries about refused system calls, so that they do not push everything else out of the log. */
static bool may_note(const struct sandboxes *s, struct sandbox *sb)
{
	uint64_t now = loop_now_ms(s->link->loop);

	if (now - sb->refused_since_ms >= REFUSALS_EVERY_MS) {
		sb->refused_since_ms = now;
		sb->refused_noted = 0;
	}
	if (sb->refused_noted == REFUSALS_MAX)
		sandbox_note(sb, LOG_LVL_WARN, JOURNAL_SECURITY,
		    "too many refused system calls: not listed for some minutes", "%s", "");
	return sb->refused_noted++ < REFUSALS_MAX;
}

/* The warden has checked only the id. The rest comes from the kernel, and the process name from the sandbox. */
void refusals_call(struct sandboxes *s, const struct msg_refused *m)
{
	char pid[16] = "", count[16];

	if (!check_id(m->id) || !check_text(m->call, sizeof m->call) || !check_text(m->process, sizeof m->process) ||
	    !check_text(m->why, sizeof m->why))
		return;
	struct sandbox *sb = sandbox_table_find(s->table, str_of(m->id));

	s->account->metrics->refused_calls += m->count;
	if (!sb || sandbox_is_warm(sb))
		return;

	const struct sandbox_facts of = sandbox_facts(sb);

	audit_syscall(s->record, &of, m);
	if (!may_note(s, sb))
		return;
	if (!m->call[0]) {
		sandbox_note(sb, LOG_LVL_WARN, JOURNAL_SECURITY,
		    "too many refused system calls: not counted for a minute", "%s", "");
		return;
	}
	(void)snprintf(count, sizeof count, "%u", m->count);
	if (m->pid)
		(void)snprintf(pid, sizeof pid, "%u", m->pid);
	struct journal_entry en = { .at_ms = UINT64_MAX,
		.level = LOG_LVL_WARN,
		.kind = JOURNAL_SECURITY,
		.message = str_of("system call refused"),
		.fields = { { str_of("call"), str_of(m->call) }, { str_of("process"), str_of(m->process) },
		    { str_of("pid"), str_of(pid) }, { str_of("count"), str_of(count) },
		    { str_of("reason"), str_of(m->why) } },
		.n_fields = 5 };

	sandbox_note_entry(sb, &en);
}

void refusals_connection(struct sandboxes *s, const struct msg_blocked *m)
{
	struct sandbox *sb = check_id(m->id) ? sandbox_table_find(s->table, str_of(m->id)) : NULL;
	const char *proto = m->proto == IPPROTO_TCP ? "tcp" : "udp";
	char ip[INET_TEXT_SIZE], to[32], text[80];

	if (!sb || sandbox_is_warm(sb))
		return;

	const struct sandbox_facts of = sandbox_facts(sb);

	audit_blocked(s->record, &of, m, proto);
	if (!may_note(s, sb))
		return;
	(void)snprintf(to, sizeof to, "%s:%u", inet_text(m->ip, ip), m->port);
	(void)snprintf(text, sizeof text, "connection to %s refused by policy", to);
	sandbox_note(sb, LOG_LVL_WARN, JOURNAL_SECURITY, text, "address=%s protocol=%s", to, proto);
}
