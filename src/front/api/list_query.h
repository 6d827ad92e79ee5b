/* SPDX-License-Identifier: Apache-2.0 */
/* front/api/list_query: the query of GET /v2/sandboxes, and which sandboxes match it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"
#include "front/sandbox/template.h"
#include "ipc/msg.h"

struct sandbox;

#define LIST_PAIRS_MAX 64
#define LIST_LIMIT_MAX 100

struct list_query {
	bool running, paused;
	bool ascending;
	uint32_t limit;
	uint64_t started_after_us;
	char *template; /* id or name; NULL: any */
	struct {
		char *name, *value;
	} pairs[LIST_PAIRS_MAX]; /* metadata that must be present */
	size_t n_pairs;
	bool has_cursor;
	uint64_t cursor_us; /* start after this entry */
	char cursor_id[ID_SIZE];
};

/* -EINVAL, with a message for the client */
int list_query_parse(struct str query, struct list_query *ret, struct err *e);
/* Only metadata; matches running sandboxes only. */
int list_query_parse_v1(struct str query, struct list_query *ret, struct err *e);
void list_query_done(struct list_query *q);
/* checks everything but state, cursor and limit */
bool list_query_wants(const struct list_query *q, const struct sandbox *sb);

/* Order of the answer: newest first, or the exact reverse. */
int list_query_compare(const struct list_query *q, uint64_t a_us, const char *a_id, uint64_t b_us, const char *b_id);
bool list_query_is_behind_cursor(const struct list_query *q, uint64_t us, const char *id);
char *list_query_cursor(const struct list_query *q, uint64_t us, const char *id); /* owned; opaque to clients */
