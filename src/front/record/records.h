/* SPDX-License-Identifier: Apache-2.0 */
/* front/record/records: what is written down of all that happens, and who is told. */
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
	struct audit *audit;         /* NULL: without */
	struct notebooks *notebooks; /* likewise */
	struct webhooks *webhooks;   /* webhooks and what is to be delivered */
	struct logbook *logbook;
	uint64_t witnessed; /* bytes of requests and answers that witnesses hold */
	bool history_more;  /* what is too old was too much for one go */
};
