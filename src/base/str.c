/* SPDX-License-Identifier: Apache-2.0 */
/* str: comparing, cutting and converting borrowed text. */
#include "base/str.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static char fold(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

bool str_ieq(struct str a, struct str b)
{
	if (a.n != b.n)
		return false;
	for (size_t i = 0; i < a.n; i++)
		if (fold(a.p[i]) != fold(b.p[i]))
			return false;
	return true;
}

bool str_starts(struct str s, const char *prefix)
{
	size_t n = strlen(prefix);

	return s.n >= n && memcmp(s.p, prefix, n) == 0;
}

bool str_ends(struct str s, const char *suffix)
{
	size_t n = strlen(suffix);

	return s.n >= n && memcmp(s.p + s.n - n, suffix, n) == 0;
}

struct str str_trim(struct str s)
{
	while (s.n && (s.p[0] == ' ' || s.p[0] == '\t'))
		str_skip(&s, 1);
	while (s.n && (s.p[s.n - 1] == ' ' || s.p[s.n - 1] == '\t'))
		s.n--;
	return s;
}

struct str str_cut(struct str *s, char sep)
{
	const char *at = s->n ? memchr(s->p, sep, s->n) : NULL;
	struct str head = *s;

	if (!at) {
		*s = STR_NULL;
		return head;
	}
	head.n = (size_t)(at - s->p);
	str_skip(s, head.n + 1);
	return head;
}

char *str_dup(struct str s)
{
	char *z = malloc(s.n + 1);

	if (!z)
		return NULL;
	if (s.n)
		memcpy(z, s.p, s.n);
	z[s.n] = '\0';
	return z;
}

char *str_fmt(const char *fmt, ...)
{
	char *z = NULL;
	va_list ap;

	va_start(ap, fmt);
	int n = vasprintf(&z, fmt, ap);
	va_end(ap);
	return n < 0 ? NULL : z;
}

bool str_copy(char *dst, size_t size, struct str s)
{
	bool fits = s.n < size;

	if (fits && s.n)
		memcpy(dst, s.p, s.n);
	dst[fits ? s.n : 0] = '\0';
	return fits;
}

int str_to_u64(struct str s, uint64_t max, uint64_t *ret)
{
	uint64_t v = 0;

	if (s.n == 0)
		return -EINVAL;
	for (size_t i = 0; i < s.n; i++) {
		if (s.p[i] < '0' || s.p[i] > '9')
			return -EINVAL;
		if (__builtin_mul_overflow(v, 10u, &v) || __builtin_add_overflow(v, (unsigned)(s.p[i] - '0'), &v))
			return -ERANGE;
	}
	if (v > max)
		return -ERANGE;
	*ret = v;
	return 0;
}

int str_to_i64(struct str s, int64_t min, int64_t max, int64_t *ret)
{
	bool neg = s.n && s.p[0] == '-';
	uint64_t v;

	if (neg)
		str_skip(&s, 1);
	int rc = str_to_u64(s, INT64_MAX, &v);
	if (rc < 0)
		return rc;
	int64_t i = neg ? -(int64_t)v : (int64_t)v;
	if (i < min || i > max)
		return -ERANGE;
	*ret = i;
	return 0;
}
