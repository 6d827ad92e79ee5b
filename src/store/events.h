/* SPDX-License-Identifier: Apache-2.0 */
/* store/events: events of sandboxes, as reported to their owners. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct store;

struct event_row {      /* strings are borrowed */
	uint64_t seq;   /* assigned by the store, ascending */
	const char *id; /* a UUID */
	const char *team, *sandbox, *type;
	uint64_t at_ms;        /* wall clock */
	const char *execution; /* a UUID: one run, from a start or a resume on */
	const char *template, *build;
	const char *data; /* JSON object */
};

struct event_query {
	const char *team;
	const char *sandbox; /* NULL: all */
	const char *types;   /* ",a,b,"; NULL: all */
	bool ascending;
	uint64_t offset, limit;
};

int events_add(struct store *s, const struct event_row *row, uint64_t *ret_seq, struct err *e);
int events_each(struct store *s, const struct event_query *q, void (*fn)(void *user, const struct event_row *row),
    void *user, struct err *e);
/* except those with a pending delivery */
int events_prune(struct store *s, uint64_t before_ms, struct err *e);
