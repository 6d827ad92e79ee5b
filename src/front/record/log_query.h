/* SPDX-License-Identifier: Apache-2.0 */
/* front/record/log_query: which log entries a client asks for. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"
#include "front/record/journal.h"

#define LOGS_LIMIT_MAX 1000
#define LOGS_SEARCH_MAX 256

struct log_query {
	uint64_t from_ms, before_ms; /* from <= time < before */
	bool newest_first;
	size_t limit;
	enum log_level at_least;
	char search[LOGS_SEARCH_MAX + 1]; /* must occur in the message */
};

/* Return -EINVAL with a message for the client. */
int log_query_parse_v1(struct str query, struct log_query *ret, struct err *e);
int log_query_parse_v2(struct str query, struct log_query *ret, struct err *e);

/* Returns an array of to_json() of each matching entry. */
json_t *log_query_run(const struct log_query *q, const struct journal *j,
    json_t *(*to_json)(const struct journal_entry *en));
