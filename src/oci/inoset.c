/* SPDX-License-Identifier: Apache-2.0 */
/* oci/inoset: a hash table with linear probing. */
#include "oci/inoset.h"

#include <errno.h>
#include <stdlib.h>

/* No file has inode 0 or 1: the kernel uses 0 for "none", and 1 is reserved for bad blocks. */
enum { FREE = 0, GONE = 1 };

/* The entry of ino, or the free one where the search ends. */
static size_t find(const struct inoset *s, uint64_t ino)
{
	size_t i = (size_t)((ino * 0x9e3779b97f4a7c15ull) >> 20) & (s->cap - 1);

	while (s->v[i] != FREE && s->v[i] != ino)
		i = (i + 1) & (s->cap - 1);
	return i;
}

static int grow(struct inoset *s)
{
	struct inoset bigger = { .cap = s->cap ? 2 * s->cap : 256 };

	bigger.v = calloc(bigger.cap, sizeof *bigger.v);
	if (!bigger.v)
		return -ENOMEM;
	for (size_t i = 0; i < s->cap; i++) {
		if (s->v[i] == FREE || s->v[i] == GONE)
			continue;
		bigger.v[find(&bigger, s->v[i])] = s->v[i];
		bigger.n++;
	}
	free(s->v);
	*s = bigger;
	return 0;
}

int inoset_add(struct inoset *s, uint64_t ino)
{
	if (2 * s->n >= s->cap && grow(s) < 0)
		return -ENOMEM;
	size_t i = find(s, ino);

	if (s->v[i] == FREE)
		s->n++;
	s->v[i] = ino;
	return 0;
}

bool inoset_has(const struct inoset *s, uint64_t ino)
{
	return s->cap > 0 && s->v[find(s, ino)] == ino;
}

void inoset_drop(struct inoset *s, uint64_t ino)
{
	if (s->cap == 0)
		return;
	size_t i = find(s, ino);

	if (s->v[i] == ino)
		s->v[i] = GONE;
}

void inoset_done(struct inoset *s)
{
	free(s->v);
	*s = (struct inoset) { 0 };
}
