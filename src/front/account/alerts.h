/* SPDX-License-Identifier: Apache-2.0 */
/* front/account/alerts: reports that a sandbox is near one of its limits: once when it crosses the threshold, and
 * again only after it has dropped well below it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "front/util/options.h"

#define ALERT_BELOW 10 /* percentage points below the threshold at which the alert is re-armed */

struct alert_marks { /* zeroed: no alerts */
	bool on[ALERTS];
};

/* Whether this use of a limit (0: no limit) is to be reported; percent 0: never. */
bool alert_crossed(struct alert_marks *m, enum alert a, uint32_t percent, double used, double limit);

const char *alert_name(enum alert a);
uint32_t alert_percent(const struct front_options *o, enum alert a); /* the setting */
