/* SPDX-License-Identifier: Apache-2.0 */
/* buf: a growing byte buffer with a maximum size. */
#include "base/buf.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void buf_done(struct buf *b)
{
	free(b->p);
	*b = (struct buf) { .max = b->max };
}

void buf_clear(struct buf *b)
{
	b->n = 0;
	b->bad = false;
}

char *buf_room(struct buf *b, size_t n)
{
	if (b->bad || b->n > b->max || b->max - b->n < n) {
		b->bad = true;
		return NULL;
	}
	if (b->cap - b->n < n) {
		size_t cap = b->cap ? b->cap : 256;

		while (cap - b->n < n) /* terminates: n is at most max */
			cap *= 2;
		char *p = realloc(b->p, cap);
		if (!p) {
			b->bad = true;
			return NULL;
		}
		b->p = p;
		b->cap = cap;
	}
	return b->p + b->n;
}

void buf_put(struct buf *b, const void *p, size_t n)
{
	char *to = n ? buf_room(b, n) : NULL;

	if (to) {
		memcpy(to, p, n);
		b->n += n;
	}
}

void buf_str(struct buf *b, struct str s)
{
	buf_put(b, s.p, s.n);
}

void buf_z(struct buf *b, const char *z)
{
	buf_put(b, z, strlen(z));
}

void buf_ch(struct buf *b, char c)
{
	buf_put(b, &c, 1);
}

void buf_fmt(struct buf *b, const char *fmt, ...)
{
	char small[256];
	va_list ap, again;

	va_start(ap, fmt);
	va_copy(again, ap);
	int n = vsnprintf(small, sizeof small, fmt, ap);
	if (n < 0) {
		b->bad = true;
	} else if ((size_t)n < sizeof small) {
		buf_put(b, small, (size_t)n);
	} else {
		char *to = buf_room(b, (size_t)n + 1); /* room for the NUL that vsnprintf() writes */

		if (to) {
			(void)vsnprintf(to, (size_t)n + 1, fmt, again);
			b->n += (size_t)n;
		}
	}
	va_end(again);
	va_end(ap);
}

void buf_consume(struct buf *b, size_t n)
{
	if (n < b->n)
		memmove(b->p, b->p + n, b->n - n);
	b->n -= n;
}

char *buf_cstr(struct buf *b)
{
	char *end = buf_room(b, 1);

	if (!end)
		return NULL;
	*end = '\0';
	return b->p;
}
