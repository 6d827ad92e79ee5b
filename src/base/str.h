/* SPDX-License-Identifier: Apache-2.0 */
/* str: borrowed text as pointer and length, not necessarily NUL-terminated; and number parsing. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct str {
	const char *p;
	size_t n;
};

#define STR_LIT(s) ((struct str) { (s), sizeof(s) - 1 })
#define STR_NULL ((struct str) { NULL, 0 })
#define STR_ARG(s) (int)(s).n, (s).p /* for "%.*s" */

static inline struct str str_of(const char *z)
{
	return (struct str) { z, z ? strlen(z) : 0 };
}

static inline bool str_eq(struct str a, struct str b)
{
	return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0);
}

static inline bool str_is(struct str a, const char *z)
{
	return str_eq(a, str_of(z));
}

static inline void str_skip(struct str *s, size_t n)
{
	s->p += n;
	s->n -= n;
}

bool str_ieq(struct str a, struct str b); /* ASCII case folded */
bool str_starts(struct str s, const char *prefix);
bool str_ends(struct str s, const char *suffix);
struct str str_trim(struct str s); /* blanks and tabs on both sides */

/* Splits at the first `sep`: returns the part before it and moves *s to the part after it. Without a `sep`,
 * returns everything and leaves *s empty with p == NULL. */
struct str str_cut(struct str *s, char sep);

/* Returns an owned, NUL-terminated copy; NULL when out of memory. An embedded NUL is copied. */
char *str_dup(struct str s);
char *str_fmt(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Copies into a fixed-size field with a NUL; false (and an empty field) if it does not fit. */
bool str_copy(char *dst, size_t size, struct str s);

/* The whole string must be a decimal number within [min, max]. 0 or -EINVAL / -ERANGE. */
int str_to_u64(struct str s, uint64_t max, uint64_t *ret);
int str_to_i64(struct str s, int64_t min, int64_t max, int64_t *ret);
