/* SPDX-License-Identifier: Apache-2.0 */
/* store/purge: forgetting all that is known of a team, but for itself and its keys. */
#pragma once

#include <stdint.h>

#include "base/err.h"

struct store;

struct purged {				/* rows */
	int64_t sandboxes, logs, secrets, webhooks, events;
};

/* Its secrets, the history and logs of its ended sandboxes, its counts. What was written is overwritten, in the file and in its log. */
int purge_team(struct store *s, const char *team, struct purged *ret, struct err *e);
