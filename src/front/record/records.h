/* SPDX-License-Identifier: Apache-2.0 */
/* front/record/records: the audit trail, logs, notebooks, events and webhooks. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct accounts;
struct audit;
struct links;
struct logbook;
struct notebooks;
struct webhooks;

struct records {
	struct links *link;
	struct accounts *account;
	struct audit *audit;         /* NULL: disabled */
	struct notebooks *notebooks; /* likewise */
	struct webhooks *webhooks;   /* webhooks and their deliveries */
	struct logbook *logbook;
	uint64_t witnessed; /* bytes of requests and answers held by witnesses */
	bool history_more;  /* history_prune() was too large for one pass */
};
