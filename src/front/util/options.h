/* SPDX-License-Identifier: Apache-2.0 */
/* front/util/options: what the warden passes at the start: the operator's settings (ipc/settings.tbl), and where the
 * server listens. */
#pragma once

#include "ipc/settings.h"

/* Limits of a sandbox that alerts are reported for: see front/account/alerts.h. */
enum alert { ALERT_MEMORY, ALERT_CPU, ALERT_DISK, ALERT_PROCESSES, ALERT_EGRESS, ALERTS };
