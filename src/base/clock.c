/* SPDX-License-Identifier: Apache-2.0 */
/* clock: reading clocks and writing times. */
#include "base/clock.h"

#include <errno.h>
#include <stdio.h>
#include <time.h>

static uint64_t now_ms(clockid_t id)
{
	struct timespec ts;

	(void)clock_gettime(id, &ts); /* cannot fail for the ids used here */
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

uint64_t clock_mono_ms(void)
{
	return now_ms(CLOCK_MONOTONIC);
}

static uint64_t now_us(clockid_t id)
{
	struct timespec ts;

	(void)clock_gettime(id, &ts);
	return (uint64_t)ts.tv_sec * 1000000 + (uint64_t)ts.tv_nsec / 1000;
}

uint64_t clock_mono_us(void)
{
	return now_us(CLOCK_MONOTONIC);
}

uint64_t clock_cpu_us(void)
{
	return now_us(CLOCK_THREAD_CPUTIME_ID);
}

uint64_t clock_wall_ms(void)
{
	return now_ms(CLOCK_REALTIME);
}

void clock_rfc3339(uint64_t wall_ms, char out[CLOCK_RFC3339_SIZE])
{
	time_t s = (time_t)(wall_ms / 1000);
	struct tm tm;
	char base[24];

	(void)gmtime_r(&s, &tm);
	(void)strftime(base, sizeof base, "%Y-%m-%dT%H:%M:%S", &tm);
	(void)snprintf(out, CLOCK_RFC3339_SIZE, "%s.%03uZ", base, (unsigned)(wall_ms % 1000));
}

static int digits(struct str *s, size_t n, uint64_t max, uint64_t *ret)
{
	if (s->n < n)
		return -EINVAL;
	struct str head = { s->p, n };
	str_skip(s, n);
	return str_to_u64(head, max, ret) < 0 ? -EINVAL : 0;
}

static int expect(struct str *s, const char *any_of)
{
	if (s->n == 0 || !strchr(any_of, s->p[0]) || s->p[0] == '\0')
		return -EINVAL;
	str_skip(s, 1);
	return 0;
}

static int parse_fraction(struct str *s, uint64_t *ret_us)
{
	uint64_t us = 0, unit = 100000;

	if (s->n && s->p[0] == '.') {
		str_skip(s, 1);
		if (s->n == 0 || s->p[0] < '0' || s->p[0] > '9')
			return -EINVAL;
		for (; s->n && s->p[0] >= '0' && s->p[0] <= '9'; str_skip(s, 1), unit /= 10)
			us += unit * (uint64_t)(s->p[0] - '0');
	}
	*ret_us = us;
	return 0;
}

static int parse_offset(struct str *s, int64_t *ret_s)
{
	uint64_t h, m;

	if (s->n == 1 && (s->p[0] == 'Z' || s->p[0] == 'z')) {
		*ret_s = 0;
		return 0;
	}
	if (s->n != 6 || (s->p[0] != '+' && s->p[0] != '-'))
		return -EINVAL;
	int64_t sign = s->p[0] == '-' ? -1 : 1;
	str_skip(s, 1);
	if (digits(s, 2, 23, &h) < 0 || expect(s, ":") < 0 || digits(s, 2, 59, &m) < 0)
		return -EINVAL;
	*ret_s = sign * (int64_t)(h * 3600 + m * 60);
	return 0;
}

int clock_parse_rfc3339(struct str s, uint64_t *ret_wall_us)
{
	uint64_t y, mo, d, h, mi, sec, us;
	int64_t off;

	if (digits(&s, 4, 9999, &y) < 0 || expect(&s, "-") < 0 || digits(&s, 2, 12, &mo) < 0 || expect(&s, "-") < 0 ||
	    digits(&s, 2, 31, &d) < 0 || expect(&s, "Tt ") < 0 || digits(&s, 2, 23, &h) < 0 || expect(&s, ":") < 0 ||
	    digits(&s, 2, 59, &mi) < 0 || expect(&s, ":") < 0 || digits(&s, 2, 60, &sec) < 0 ||
	    parse_fraction(&s, &us) < 0 || parse_offset(&s, &off) < 0 || y < 1970 || mo == 0 || d == 0)
		return -EINVAL;
	struct tm tm = { .tm_year = (int)y - 1900,
		.tm_mon = (int)mo - 1,
		.tm_mday = (int)d,
		.tm_hour = (int)h,
		.tm_min = (int)mi,
		.tm_sec = (int)sec };
	int64_t t = (int64_t)timegm(&tm) - off;
	if (t < 0)
		return -EINVAL;
	*ret_wall_us = (uint64_t)t * 1000000 + us;
	return 0;
}
