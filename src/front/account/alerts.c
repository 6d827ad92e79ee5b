/* SPDX-License-Identifier: Apache-2.0 */
/* front/account/alerts: thresholds with hysteresis. */
#include "front/account/alerts.h"

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

uint32_t alert_percent(const struct front_options *o, enum alert a)
{
	const uint32_t percent[ALERTS] = {
		[ALERT_MEMORY] = o->alert_memory_percent,
		[ALERT_CPU] = o->alert_cpu_percent,
		[ALERT_DISK] = o->alert_disk_percent,
		[ALERT_PROCESSES] = o->alert_processes_percent,
		[ALERT_EGRESS] = o->alert_egress_percent,
	};

	return percent[a];
}
