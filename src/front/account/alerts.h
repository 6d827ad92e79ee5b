/* SPDX-License-Identifier: Apache-2.0 */
/* front/account/alerts: tells when a sandbox is near one of its limits: once, when it gets there, and again only after
 * it has been well below. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "front/util/options.h"

#define ALERT_BELOW 10 /* percent under the threshold: then the next time counts again */

struct alert_marks { /* zeroed: all is quiet */
	bool on[ALERTS];
};

/* Whether this use of a limit (0: it has none) is to be told of; percent 0: never. */
bool alert_crossed(struct alert_marks *m, enum alert a, uint32_t percent, double used, double limit);

const char *alert_name(enum alert a);
