/* SPDX-License-Identifier: Apache-2.0 */
/* front/record/journal: the newest log entries of one sandbox.
 *
 * A byte ring that grows up to JOURNAL_MAX. A new entry replaces the oldest ones when there is no room. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/log.h"
#include "base/str.h"

#define JOURNAL_MAX (32 * 1024)
#define JOURNAL_FIELDS_MAX 8
#define LOG_MARK ".event"    /* an internal field, not shown to clients */
#define JOURNAL_TEXT_MAX 256 /* of a message or a field; longer ones are truncated */

enum journal_kind { JOURNAL_LIFECYCLE, JOURNAL_REQUEST, JOURNAL_SECURITY, JOURNAL_PROCESS };

struct journal { /* zeroed: empty */
	char *p;
	size_t cap, n, at; /* n bytes starting at `at`, wrapping around */
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

/* Reads the entry at *pos (0: the oldest) into *ret and advances *pos. The strings point into room, which has
 * JOURNAL_ENTRY_MAX bytes. Returns false at the end. */
#define JOURNAL_ENTRY_MAX (16 + (1 + 2 * JOURNAL_FIELDS_MAX) * (JOURNAL_TEXT_MAX + 1))
bool journal_next(const struct journal *j, size_t *pos, char *room, struct journal_entry *ret);

/* moves the bytes of all entries, oldest first; the journal is empty afterwards */
void journal_take(struct journal *j, struct buf *to);
size_t journal_check(struct str bytes); /* length of the prefix that consists of valid entries */

const char *journal_kind_name(enum journal_kind k);
