/* SPDX-License-Identifier: Apache-2.0 */
/* front/sandbox/table: a hash table with chaining. */
#include "front/sandbox/table.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/rand.h"
#include "front/sandbox/sandbox.h"
#include "front/util/mem.h"

#define BUCKETS 8192 /* ids are random; 10000 may live at once, and as many be paused */

struct sandbox_table {
	struct sandbox *bucket[BUCKETS];
	size_t n;
};

static size_t bucket_of(struct str id)
{
	uint32_t h = 2166136261u; /* FNV-1a; the ids are our own random ones, so no keyed hash is needed */

	for (size_t i = 0; i < id.n; i++)
		h = (h ^ (unsigned char)id.p[i]) * 16777619u;
	return h % BUCKETS;
}

struct sandbox_table *sandbox_table_new(void)
{
	return must_alloc(sizeof(struct sandbox_table));
}

void sandbox_table_free(struct sandbox_table *t)
{
	free(t);
}

void sandbox_table_put(struct sandbox_table *t, struct sandbox *sb)
{
	size_t b = bucket_of(str_of(sb->id));

	sb->next = t->bucket[b];
	t->bucket[b] = sb;
	t->n++;
}

void sandbox_table_drop(struct sandbox_table *t, struct sandbox *sb)
{
	struct sandbox **at = &t->bucket[bucket_of(str_of(sb->id))];

	while (*at && *at != sb)
		at = &(*at)->next;
	assert(*at);
	*at = sb->next;
	sb->next = NULL;
	t->n--;
}

struct sandbox *sandbox_table_find(const struct sandbox_table *t, struct str id)
{
	for (struct sandbox *sb = t->bucket[bucket_of(id)]; sb; sb = sb->next) {
		if (str_is(id, sb->id))
			return sb;
	}
	return NULL;
}

size_t sandbox_table_count(const struct sandbox_table *t)
{
	return t->n;
}

struct sandbox *sandbox_table_next(const struct sandbox_table *t, const struct sandbox *sb)
{
	size_t b = 0;

	if (sb) {
		if (sb->next)
			return sb->next;
		b = bucket_of(str_of(sb->id)) + 1;
	}
	while (b < BUCKETS && !t->bucket[b])
		b++;
	return b < BUCKETS ? t->bucket[b] : NULL;
}

void sandbox_table_make_id(const struct sandbox_table *t, char id[ID_SIZE])
{
	do {
		id[0] = 'i';
		rand_label(id + 1, 19);
	} while (sandbox_table_find(t, str_of(id)));
}
