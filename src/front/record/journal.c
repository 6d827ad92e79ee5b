/* SPDX-License-Identifier: Apache-2.0 */
/* front/record/journal: entries as bytes in a ring.
 *
 * An entry is a head, the message, then name and value of each field; texts are NUL-terminated. */
#include "front/record/journal.h"

#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "front/util/mem.h"

#define FIRST_SIZE 1024

struct head {
	uint64_t at_ms;
	uint16_t size; /* of the whole entry */
	uint8_t level, kind;
	uint8_t n_fields;
	uint8_t pad[3];
};

/* stored as numbers: never reorder */
static const char *const kind_names[] = { "lifecycle", "request", "security", "process" };

_Static_assert(sizeof(struct head) == 16, "JOURNAL_ENTRY_MAX counts on it");

void journal_done(struct journal *j)
{
	free(j->p);
	*j = (struct journal) { 0 };
}

static void ring_read(const struct journal *j, size_t pos, void *to, size_t n)
{
	size_t from = (j->at + pos) % j->cap;
	size_t first = j->cap - from < n ? j->cap - from : n;

	memcpy(to, j->p + from, first);
	memcpy((char *)to + first, j->p, n - first);
}

static void ring_write(struct journal *j, const void *from, size_t n)
{
	size_t to = (j->at + j->n) % j->cap;
	size_t first = j->cap - to < n ? j->cap - to : n;

	memcpy(j->p + to, from, first);
	memcpy(j->p, (const char *)from + first, n - first);
	j->n += n;
}

static void drop_oldest(struct journal *j)
{
	struct head h;

	ring_read(j, 0, &h, sizeof h);
	j->at = (j->at + h.size) % j->cap;
	j->n -= h.size;
}

static void make_room(struct journal *j, size_t n)
{
	if (j->cap - j->n >= n)
		return;
	if (j->cap < JOURNAL_MAX) {
		size_t cap = j->cap ? j->cap * 2 : FIRST_SIZE;

		while (cap - j->n < n)
			cap *= 2;

		char *p = must_alloc(cap);

		if (j->n > 0)
			ring_read(j, 0, p, j->n);
		free(j->p);
		*j = (struct journal) { .p = p, .cap = cap, .n = j->n };
	}
	while (j->cap - j->n < n)
		drop_oldest(j);
}

/* Appends s at *at, truncated to the maximum length and at the first NUL, without a partial character at the end. */
static void put_text(char **at, struct str s)
{
	size_t n = s.n < JOURNAL_TEXT_MAX ? s.n : JOURNAL_TEXT_MAX;
	const char *nul = n ? memchr(s.p, '\0', n) : NULL;

	if (nul)
		n = (size_t)(nul - s.p);
	while (n > 0 && n < s.n && ((unsigned char)s.p[n] & 0xc0) == 0x80)
		n--;
	if (n)
		memcpy(*at, s.p, n);
	(*at)[n] = '\0';
	*at += n + 1;
}

void journal_add(struct journal *j, const struct journal_entry *en)
{
	char raw[JOURNAL_ENTRY_MAX], *at = raw + sizeof(struct head);
	struct head h = { .at_ms = en->at_ms,
		.level = (uint8_t)en->level,
		.kind = (uint8_t)en->kind,
		.n_fields = (uint8_t)en->n_fields };

	put_text(&at, en->message);
	for (size_t i = 0; i < en->n_fields; i++) {
		put_text(&at, en->fields[i].name);
		put_text(&at, en->fields[i].value);
	}
	h.size = (uint16_t)(at - raw);
	memcpy(raw, &h, sizeof h);
	make_room(j, h.size);
	ring_write(j, raw, h.size);
}

static struct str get_text(char **at)
{
	struct str s = str_of(*at);

	*at += s.n + 1;
	return s;
}

bool journal_next(const struct journal *j, size_t *pos, char *room, struct journal_entry *ret)
{
	struct head h;
	char *at = room;

	if (*pos >= j->n)
		return false;
	ring_read(j, *pos, &h, sizeof h);
	ring_read(j, *pos + sizeof h, room, h.size - sizeof h);
	*pos += h.size;
	*ret = (struct journal_entry) { .at_ms = h.at_ms,
		.level = (enum log_level)h.level,
		.kind = (enum journal_kind)h.kind,
		.n_fields = h.n_fields };
	ret->message = get_text(&at);
	for (size_t i = 0; i < ret->n_fields; i++) {
		ret->fields[i].name = get_text(&at);
		ret->fields[i].value = get_text(&at);
	}
	return true;
}

void journal_take(struct journal *j, struct buf *to)
{
	char *p = j->n > 0 ? buf_room(to, j->n) : NULL;

	if (p) {
		ring_read(j, 0, p, j->n);
		to->n += j->n;
	}
	journal_done(j);
}

static bool is_sound(struct str entry)
{
	struct head h;
	size_t texts = 0;

	if (entry.n < sizeof h)
		return false;
	memcpy(&h, entry.p, sizeof h);
	if (h.size <= sizeof h || h.size > entry.n || h.size > JOURNAL_ENTRY_MAX || h.level > LOG_LVL_ERROR ||
	    h.kind >= ARRAY_LEN(kind_names) || h.n_fields > JOURNAL_FIELDS_MAX || entry.p[h.size - 1] != '\0')
		return false;
	for (size_t i = sizeof h; i < h.size; i++)
		texts += entry.p[i] == '\0';
	return texts == 1 + 2u * h.n_fields;
}

size_t journal_check(struct str bytes)
{
	struct str rest = bytes;
	struct head h;

	while (is_sound(rest)) {
		memcpy(&h, rest.p, sizeof h);
		str_skip(&rest, h.size);
	}
	return bytes.n - rest.n;
}

const char *journal_kind_name(enum journal_kind k)
{
	return kind_names[k];
}
