/* SPDX-License-Identifier: Apache-2.0 */
/* cli/template/ignore: matches the files that are left out of a build. */
#include "cli/template/ignore.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"

#define RULES_MAX 4096
#define STEPS_MAX 100000 /* per match, because patterns with many stars take exponential time */

/* Matches the class [..] at *p against c and advances *p past it. */
static bool match_class(const char **p, char c)
{
	const char *q = *p + 1;
	bool negate = *q == '^' || *q == '!', found = false;

	q += negate;
	for (bool first = true; *q && (first || *q != ']'); first = false) {
		char lo = *q == '\\' && q[1] ? *++q : *q;
		char hi = lo;

		q++;
		if (*q == '-' && q[1] && q[1] != ']') {
			hi = q[1];
			q += 2;
		}
		found = found || (c >= lo && c <= hi);
	}
	*p = *q ? q + 1 : q;
	return found != negate && c != '/';
}

static bool match(const char *p, const char *s, const char *end, unsigned *steps)
{
	for (; *p;) {
		if ((*steps)++ > STEPS_MAX)
			return false;
		if (p[0] == '*' && p[1] == '*') {
			const char *rest = p + 2 + (p[2] == '/');

			for (const char *at = s; at <= end; at++) {
				/* "**" followed by '/' matches whole directories */
				if ((p[2] != '/' || at == s || at[-1] == '/') && match(rest, at, end, steps))
					return true;
			}
			return false;
		}
		if (*p == '*') {
			for (const char *at = s;; at++) {
				if (match(p + 1, at, end, steps))
					return true;
				if (at == end || *at == '/')
					return false;
			}
		}
		if (s == end)
			return false;
		if (*p == '?') {
			if (*s == '/')
				return false;
			p++;
		} else if (*p == '[') {
			if (!match_class(&p, *s))
				return false;
		} else {
			if (*p == '\\' && p[1])
				p++;
			if (*p++ != *s)
				return false;
		}
		s++;
	}
	return s == end;
}

bool ignore_match(const char *pattern, struct str path)
{
	unsigned steps = 0;

	return match(pattern, path.p, path.p + path.n, &steps);
}

bool ignore_has(const struct ignore *g, const char *path)
{
	bool ignored = false;

	for (size_t i = 0; i < g->n; i++) {
		struct str whole = str_of(path);
		bool hit = ignore_match(g->v[i].pattern, whole);

		for (size_t n = 0; !hit && n < whole.n; n++)
			hit = path[n] == '/' && ignore_match(g->v[i].pattern, (struct str) { path, n });
		if (hit)
			ignored = !g->v[i].keep;
	}
	return ignored;
}

int ignore_parse(struct str text, struct ignore *ret)
{
	struct ignore g = { .v = calloc(RULES_MAX, sizeof(struct ignore_rule)) };

	while (g.v && text.p && g.n < RULES_MAX) {
		struct str line = str_cut(&text, '\n');

		if (line.n && line.p[line.n - 1] == '\r')
			line.n--;
		line = str_trim(line);
		if (line.n == 0 || line.p[0] == '#')
			continue;
		bool keep = line.p[0] == '!';

		if (keep)
			str_skip(&line, 1);
		while (str_starts(line, "./"))
			str_skip(&line, 2);
		while (line.n && line.p[0] == '/')
			str_skip(&line, 1);
		while (line.n && line.p[line.n - 1] == '/')
			line.n--;
		if (line.n == 0)
			continue;
		g.v[g.n] = (struct ignore_rule) { .pattern = str_dup(line), .keep = keep };
		if (!g.v[g.n++].pattern) {
			ignore_done(&g);
			return -ENOMEM;
		}
	}
	if (!g.v)
		return -ENOMEM;
	*ret = g;
	return 0;
}

void ignore_done(struct ignore *g)
{
	for (size_t i = 0; i < g->n; i++)
		free(g->v[i].pattern);
	free(g->v);
	*g = (struct ignore) { 0 };
}
