/* SPDX-License-Identifier: Apache-2.0 */
/* front/record/journal: what happened to one sandbox, the newest entries of it.
 *
 * A ring of bytes that grows up to JOURNAL_MAX; an entry that does not fit pushes the oldest ones out. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/log.h"
#include "base/str.h"

#define JOURNAL_MAX (32 * 1024)
#define JOURNAL_FIELDS_MAX 8
#define LOG_MARK ".event"    /* a field that is not shown */
#define JOURNAL_TEXT_MAX 256 /* of a message or of a field; longer ones are cut */

enum journal_kind { JOURNAL_LIFECYCLE, JOURNAL_REQUEST, JOURNAL_SECURITY, JOURNAL_PROCESS };

struct journal { /* zeroed: empty */
	char *p;
	size_t cap, n, at; /* n bytes from at on, wrapping round */
};

struct journal_entry {
	uint64_t at_ms; /* wall clock */
	enum log_level level;
	enum journal_kind kind;
	struct str message;
	struct {
		struct str name, value;
	} fields[JOURNAL_FIELDS_MAX];
	size_t n_fields;
};

void journal_done(struct journal *j);
void journal_add(struct journal *j, const struct journal_entry *en);

/* The entry at *pos (start with 0, the oldest) into *ret, and *pos moved behind it. The strings point into room, which
 * has JOURNAL_ENTRY_MAX bytes. False at the end. */
#define JOURNAL_ENTRY_MAX (16 + (1 + 2 * JOURNAL_FIELDS_MAX) * (JOURNAL_TEXT_MAX + 1))
bool journal_next(const struct journal *j, size_t *pos, char *room, struct journal_entry *ret);

void journal_take(struct journal *j, struct buf *to); /* the bytes of all entries, oldest first; it is empty then */
size_t journal_check(struct str bytes);               /* how many of these are whole and sound entries */

const char *journal_kind_name(enum journal_kind k);
