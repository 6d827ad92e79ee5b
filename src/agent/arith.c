/* SPDX-License-Identifier: Apache-2.0 */
/* agent/arith: a recursive-descent parser for + - * / % ^ and parentheses. Integers stay exact as long as they fit. */
#include "agent/arith.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/fd.h"

#define DEPTH_MAX 64

struct num {
	bool whole;
	int64_t i;
	double d; /* set for integers, too */
};

struct parser {
	struct str in;
	size_t at;
	unsigned depth, operators;
	int rc; /* -EINVAL: not an expression; -EDOM; -ERANGE */
};

static struct num expression(struct parser *p);

static struct num whole(int64_t i)
{
	return (struct num) { true, i, (double)i };
}

static struct num real(double d)
{
	return (struct num) { false, 0, d };
}

static struct num stop(struct parser *p, int rc)
{
	if (p->rc == 0)
		p->rc = rc;
	return whole(0);
}

static void skip_blanks(struct parser *p)
{
	while (p->at < p->in.n && (p->in.p[p->at] == ' ' || p->in.p[p->at] == '\t'))
		p->at++;
}

static struct str rest_of(const struct parser *p)
{
	return (struct str) { p->in.p + p->at, p->in.n - p->at };
}

static bool is_letter(char c)
{
	return (c | 32) >= 'a' && (c | 32) <= 'z';
}

/* Skips z if the text continues with it; a word must be a whole word. */
static bool parser_skip(struct parser *p, const char *z)
{
	size_t n = strlen(z);

	skip_blanks(p);
	struct str rest = rest_of(p);

	if (rest.n < n || strncasecmp(rest.p, z, n) != 0 ||
	    (is_letter(z[n - 1]) && rest.n > n && (is_letter(rest.p[n]) || rest.p[n] == '_')))
		return false;
	p->at += n;
	return true;
}

static struct num number(struct parser *p)
{
	char z[64];
	size_t n = 0;
	bool point = false;

	for (; p->at < p->in.n && n < sizeof z - 1; p->at++) {
		char c = p->in.p[p->at], next = p->at + 1 < p->in.n ? p->in.p[p->at + 1] : ' ';
		bool digit_next = next >= '0' && next <= '9';

		if (c == '.' && !point && digit_next)
			point = true;
		else if (c == ',' && n > 0 && digit_next && !point && p->in.n - p->at >= 4)
			continue; /* 1,000 */
		else if (c < '0' || c > '9')
			break;
		z[n++] = c;
	}
	z[n] = '\0';
	if (n == 0)
		return stop(p, -EINVAL);
	if (point || n > 18)
		return real(strtod(z, NULL));
	return whole(strtoll(z, NULL, 10));
}

static struct num call(struct parser *p, double (*fn)(double))
{
	if (!parser_skip(p, "("))
		return stop(p, -EINVAL);
	struct num v = expression(p);

	if (!parser_skip(p, ")"))
		return stop(p, -EINVAL);
	p->operators++;
	double d = fn(v.d);

	if (isnan(d))
		return stop(p, -EDOM);
	return d == floor(d) && fabs(d) < 9e15 ? whole((int64_t)d) : real(d);
}

static struct num primary(struct parser *p)
{
	static const struct {
		const char *name;
		double (*fn)(double);
	} functions[] = { { "sqrt", sqrt }, { "abs", fabs }, { "sin", sin }, { "cos", cos }, { "tan", tan },
		{ "log", log }, { "ln", log }, { "log10", log10 }, { "exp", exp }, { "floor", floor }, { "ceil", ceil },
		{ "round", round } };

	if (parser_skip(p, "(")) {
		struct num v = expression(p);

		return parser_skip(p, ")") ? v : stop(p, -EINVAL);
	}
	for (size_t i = 0; i < ARRAY_LEN(functions); i++) {
		size_t was = p->at;

		if (parser_skip(p, functions[i].name)) {
			skip_blanks(p);
			if (p->at < p->in.n && p->in.p[p->at] == '(')
				return call(p, functions[i].fn);
			p->at = was;
		}
	}
	if (parser_skip(p, "pi"))
		return real(M_PI);
	skip_blanks(p);
	return number(p);
}

static struct num power(struct parser *p, struct num a, struct num b)
{
	int64_t v = 1;

	if (a.whole && b.whole && b.i >= 0 && b.i < 64) {
		for (int64_t k = 0; k < b.i; k++) {
			if (__builtin_mul_overflow(v, a.i, &v))
				return real(pow(a.d, b.d));
		}
		return whole(v);
	}
	double d = pow(a.d, b.d);

	return isnan(d) ? stop(p, -EDOM) : real(d);
}

static struct num unary(struct parser *p)
{
	bool minus = false;

	if (p->depth >= DEPTH_MAX)
		return stop(p, -EINVAL);
	p->depth++;
	while (p->rc == 0 && (parser_skip(p, "-") || parser_skip(p, "+")))
		minus ^= p->in.p[p->at - 1] == '-';
	struct num v = primary(p);

	if (p->rc == 0 && (parser_skip(p, "**") || parser_skip(p, "^"))) {
		p->operators++;
		v = power(p, v, unary(p)); /* right-associative: 2^3^2 is 2^9, and -2^2 is -4 */
	}
	p->depth--;
	if (!minus)
		return v;
	return v.whole && v.i != INT64_MIN ? whole(-v.i) : real(-v.d);
}

static struct num divide(struct parser *p, struct num a, struct num b, bool rest)
{
	if (b.d == 0)
		return stop(p, -EDOM);
	if (a.whole && b.whole && !(a.i == INT64_MIN && b.i == -1)) {
		int64_t q = a.i / b.i, r = a.i % b.i;

		if (rest)
			return whole(r);
		return r == 0 ? whole(q) : real(a.d / b.d);
	}
	return real(rest ? fmod(a.d, b.d) : a.d / b.d);
}

static bool take_times(struct parser *p)
{
	return parser_skip(p, "*") || parser_skip(p, "\xc3\x97") || parser_skip(p, "times") ||
	    parser_skip(p, "multiplied by") || parser_skip(p, "x");
}

static bool take_over(struct parser *p)
{
	return parser_skip(p, "/") || parser_skip(p, "\xc3\xb7") || parser_skip(p, "divided by");
}

static struct num term(struct parser *p)
{
	struct num a = unary(p);

	while (p->rc == 0) {
		size_t was = p->at;
		bool times = take_times(p), over = !times && take_over(p),
		     rest = !times && !over && (parser_skip(p, "%") || parser_skip(p, "mod"));
		int64_t v;

		if (!times && !over && !rest)
			break;
		struct num b = unary(p);

		if (p->rc == -EINVAL) { /* "5 x" without an operand: the operator is not part of the expression */
			p->rc = 0;
			p->at = was;
			break;
		}
		p->operators++;
		if (!times)
			a = divide(p, a, b, rest);
		else
			a = a.whole && b.whole && !__builtin_mul_overflow(a.i, b.i, &v) ? whole(v) : real(a.d * b.d);
	}
	return a;
}

static struct num expression(struct parser *p)
{
	struct num a;

	if (p->depth >= DEPTH_MAX)
		return stop(p, -EINVAL);
	p->depth++;
	a = term(p);
	while (p->rc == 0) {
		size_t was = p->at;
		bool plus = parser_skip(p, "+") || parser_skip(p, "plus"),
		     minus = !plus &&
		    (parser_skip(p, "-") || parser_skip(p, "minus") || parser_skip(p, "\xe2\x88\x92"));
		int64_t v;

		if (!plus && !minus)
			break;
		struct num b = term(p);

		if (p->rc == -EINVAL) {
			p->rc = 0;
			p->at = was;
			break;
		}
		p->operators++;
		bool fits = a.whole && b.whole &&
		    !(plus ? __builtin_add_overflow(a.i, b.i, &v) : __builtin_sub_overflow(a.i, b.i, &v));

		a = fits ? whole(v) : real(plus ? a.d + b.d : a.d - b.d);
	}
	p->depth--;
	return a;
}

static bool may_begin(struct str text, size_t i)
{
	char c = text.p[i], prev = i > 0 ? text.p[i - 1] : ' ';

	if (is_letter(prev) || (prev >= '0' && prev <= '9') || prev == '.' || prev == '_')
		return false;
	return (c >= '0' && c <= '9') || c == '(' || c == '-' || c == '.' || is_letter(c);
}

int arith_find(struct str text, struct str *ret_expr, char ret_value[ARITH_RESULT_SIZE])
{
	if (text.n > ARITH_TEXT_MAX)
		return -ENOENT;
	for (size_t i = 0; i < text.n; i++) {
		struct parser p = { .in = text, .at = i };

		if (!may_begin(text, i))
			continue;
		struct num v = expression(&p);
		bool apart = p.at == text.n || (p.at > i && (text.p[p.at - 1] == ' ' || text.p[p.at - 1] == '\t'));

		if (p.rc == -EINVAL || p.operators == 0 || (!apart && (is_letter(text.p[p.at]) || text.p[p.at] == '_')))
			continue;
		if (p.rc < 0)
			return p.rc;
		if (!v.whole && !isfinite(v.d))
			return -ERANGE;
		*ret_expr = (struct str) { text.p + i, p.at - i };
		if (v.whole)
			(void)snprintf(ret_value, ARITH_RESULT_SIZE, "%lld", (long long)v.i);
		else
			(void)snprintf(ret_value, ARITH_RESULT_SIZE, "%.15g", v.d);
		return 0;
	}
	return -ENOENT;
}
