/* SPDX-License-Identifier: Apache-2.0 */
/* front/account/alerts: thresholds, with some distance between on and off. */
#include "front/account/alerts.h"

#include "base/log.h"
#include "front/account/metrics.h"
#include "front/front.h"
#include "front/record/audit.h"
#include "front/record/events.h"
#include "front/sandbox/sandbox.h"
#include "ipc/msg.h"

static const char *const names[ALERTS] = {
	[ALERT_MEMORY] = "memory",
	[ALERT_CPU] = "cpu",
	[ALERT_DISK] = "disk",
	[ALERT_PROCESSES] = "processes",
	[ALERT_EGRESS] = "egress",
};

const char *alert_name(enum alert a)
{
	return names[a];
}

bool alert_crossed(struct alert_marks *m, enum alert a, uint32_t percent, double used, double limit)
{
	double now = limit > 0 ? used * 100 / limit : 0;

	if (percent == 0)
		return false;
	if (m->on[a]) {
		m->on[a] = now > (percent > ALERT_BELOW ? percent - ALERT_BELOW : 0);
		return false;
	}
	m->on[a] = now >= percent;
	return m->on[a];
}

static void tell(struct sandbox *sb, enum alert a, double used, double limit)
{
	uint32_t threshold = sb->front->link.opt.alert_percent[a];
	int percent = (int)(used * 100 / limit);

	sb->front->account.metrics->alerts[a]++;
	log_warn("sandbox is near a limit", "id=%s resource=%s percent=%d threshold=%u", sb->id, names[a], percent,
	    threshold);
	sandbox_note(sb, LOG_LVL_WARN, JOURNAL_SECURITY, "near a limit", "resource=%s percent=%d threshold=%u",
	    names[a], percent, threshold);
	(void)audit_add(sb->front, "resource.threshold",
	    &(struct audit_who) { .team = sb->team, .key = sb->key, .sandbox = sb->id },
	    json_pack("{s:s,s:i,s:i}", "resource", names[a], "percent", percent, "threshold", (int)threshold));
	event_note(sb, EVENT_THRESHOLD,
	    json_pack("{s:s,s:i,s:i,s:I,s:I}", "resource", names[a], "percent", percent, "threshold", (int)threshold,
		"used", (json_int_t)used, "limit", (json_int_t)limit));
}

void alerts_look(struct sandbox *sb, const struct msg_usage *m)
{
	const struct usage_sample *s = usage_get(&sb->usage, sb->usage.n - 1);
	const struct msg_limits *lim = &sb->spec.limits;
	const double use[ALERTS][2] = {
		[ALERT_MEMORY] = { s ? (double)s->mem_bytes : 0, (double)m->mem_limit_bytes },
		[ALERT_CPU] = { s ? s->cpu_pct : 0, lim->cpu_permille / 10.0 },
		[ALERT_DISK] = { s ? (double)s->disk_bytes : 0, (double)m->disk_limit_bytes },
		[ALERT_PROCESSES] = { s ? s->pids : 0, lim->pids },
		[ALERT_EGRESS] = { (double)(sb->sent_before + m->sent_bytes), (double)lim->egress_bytes },
	};

	for (enum alert a = 0; a < ALERTS; a++) {
		if (alert_crossed(&sb->alerts, a, sb->front->link.opt.alert_percent[a], use[a][0], use[a][1]))
			tell(sb, a, use[a][0], use[a][1]);
	}
}
