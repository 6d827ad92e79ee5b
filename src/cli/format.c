/* SPDX-License-Identifier: Apache-2.0 */
/* cli/format: formats sizes, durations and untrusted text for display. */
#include "cli/format.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"

static const struct {
	char letter;
	uint64_t s;
} units[] = { { 'w', 604800 }, { 'd', 86400 }, { 'h', 3600 }, { 'm', 60 }, { 's', 1 } };

#define N_UNITS (sizeof(units) / sizeof(*units))

/* Parses a number and its unit and advances *s. *unit is the first unit that is allowed here; it is advanced past the
 * one that was found. */
static int take_part(struct str *s, uint64_t max_s, size_t *unit, uint64_t *ret)
{
	struct str digits = *s;
	uint64_t n;

	digits.n = 0;
	while (digits.n < s->n && s->p[digits.n] >= '0' && s->p[digits.n] <= '9')
		digits.n++;
	int rc = str_to_u64(digits, max_s, &n);
	if (rc < 0)
		return rc;
	str_skip(s, digits.n);
	size_t u = *unit;
	while (u < N_UNITS && (s->n == 0 || units[u].letter != s->p[0]))
		u++;
	if (u == N_UNITS)
		return -EINVAL;
	str_skip(s, 1);
	if (n > max_s / units[u].s)
		return -ERANGE;
	*ret = n * units[u].s;
	*unit = u + 1;
	return 0;
}

int duration_parse(struct str s, uint64_t max_s, uint64_t *ret_s)
{
	uint64_t sum = 0, part;
	size_t unit = 0;

	if (str_to_u64(s, max_s, &part) == 0) {
		*ret_s = part;
		return 0;
	}
	do {
		int rc = take_part(&s, max_s, &unit, &part);

		if (rc < 0)
			return rc;
		if (part > max_s - sum)
			return -ERANGE;
		sum += part;
	} while (s.n > 0);
	*ret_s = sum;
	return 0;
}

void duration_format(uint64_t s, char out[FORMAT_SIZE])
{
	if (s < 60)
		(void)snprintf(out, FORMAT_SIZE, "%us", (unsigned)s);
	else if (s < 3600)
		(void)snprintf(out, FORMAT_SIZE, "%um%us", (unsigned)(s / 60), (unsigned)(s % 60));
	else if (s < 86400)
		(void)snprintf(out, FORMAT_SIZE, "%uh%um", (unsigned)(s / 3600), (unsigned)(s % 3600 / 60));
	else
		(void)snprintf(out, FORMAT_SIZE, "%llud%uh", (unsigned long long)(s / 86400),
		    (unsigned)(s % 86400 / 3600));
}

void size_format(uint64_t bytes, char out[FORMAT_SIZE])
{
	static const char letters[] = "KMGTPE";
	double n = (double)bytes;
	size_t u = 0;

	if (bytes < 1024) {
		(void)snprintf(out, FORMAT_SIZE, "%u", (unsigned)bytes);
		return;
	}
	/* 999.5 would print as 1000. */
	for (n /= 1024; n >= 999.5 && u + 2 < sizeof(letters); u++)
		n /= 1024;
	(void)snprintf(out, FORMAT_SIZE, n < 9.95 ? "%.1f%c" : "%.0f%c", n, letters[u]);
}

int64_t span_s(const char *rfc3339, uint64_t at_ms, bool until)
{
	uint64_t us;

	if (!rfc3339 || clock_parse_rfc3339(str_of(rfc3339), &us) < 0)
		return -1;
	uint64_t then = us / 1000, from = until ? at_ms : then, to = until ? then : at_ms;
	return to > from ? (int64_t)((to - from) / 1000) : 0;
}

void span_format(const char *rfc3339, uint64_t at_ms, bool until, char out[FORMAT_SIZE])
{
	int64_t s = span_s(rfc3339, at_ms, until);

	if (s < 0)
		(void)snprintf(out, FORMAT_SIZE, "-");
	else
		duration_format((uint64_t)s, out);
}

uint64_t now_ms(void)
{
	const char *z = getenv("ATOLL_NOW_MS");
	uint64_t n;

	return z && str_to_u64(str_of(z), UINT64_MAX / 2, &n) == 0 ? n : clock_wall_ms();
}

void put_clean(struct buf *out, const char *z)
{
	for (; *z; z++) {
		unsigned char c = (unsigned char)*z, next = (unsigned char)z[1];

		if (c < 0x20 || c == 0x7f) {
			buf_ch(out, '?');
		} else if (c == 0xc2 && next >= 0x80 && next <= 0x9f) { /* C1 control characters */
			buf_ch(out, '?');
			z++;
		} else {
			buf_ch(out, *z);
		}
	}
}

void print_clean(const char *z)
{
	autobuf struct buf b = BUF_INIT(1024 * 1024);

	put_clean(&b, z);
	(void)fwrite(b.p ? b.p : "", 1, b.n, stdout);
}
