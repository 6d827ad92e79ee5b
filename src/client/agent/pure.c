/* SPDX-License-Identifier: Apache-2.0 */
/* client/agent/pure: decides whether code only computes: it consists of literals, operators and names from a short
 * list. It has no variables, which other code may have set, no assignments, which other code may read, no loops, and
 * no attributes except those of a few modules. */
#include <string.h>

#include "base/fd.h"
#include "base/str.h"
#include "client/atoll.h"

#define CODE_MAX 65536

static const char *const python_names[] = {
	"print",
	"len",
	"sum",
	"min",
	"max",
	"abs",
	"round",
	"range",
	"sorted",
	"reversed",
	"list",
	"tuple",
	"set",
	"dict",
	"str",
	"int",
	"float",
	"bool",
	"complex",
	"repr",
	"pow",
	"divmod",
	"bin",
	"hex",
	"oct",
	"ord",
	"chr",
	"all",
	"any",
	"zip",
	"enumerate",
	"True",
	"False",
	"None",
	"and",
	"or",
	"not",
	"in",
	"is",
	"if",
	"else",
	"sep",
	"end",
	"key",
	"reverse",
	"start",
	NULL,
};
static const char *const js_names[] = {
	"console",
	"log",
	"Math",
	"sqrt",
	"pow",
	"abs",
	"floor",
	"ceil",
	"round",
	"min",
	"max",
	"sin",
	"cos",
	"tan",
	"PI",
	"E",
	"log2",
	"log10",
	"exp",
	"hypot",
	"trunc",
	"JSON",
	"stringify",
	"Number",
	"String",
	"Boolean",
	"parseInt",
	"parseFloat",
	"isNaN",
	"true",
	"false",
	"null",
	"undefined",
	"typeof",
	"toFixed",
	"toString",
	"toUpperCase",
	"toLowerCase",
	"length",
	"join",
	"reverse",
	"slice",
	NULL,
};

static bool is_letter(char c)
{
	return c == '_' || c == '$' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (unsigned char)c >= 0x80;
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_known(struct str name, const char *const *known)
{
	for (; *known; known++) {
		if (str_is(name, *known))
			return true;
	}
	return false;
}

/* Returns the length of the literal at s.p, or 0 if it is unterminated. Prefixed strings (f"...") and template
 * strings can contain names, so they are not literals. */
static size_t literal(struct str s)
{
	char quote = *s.p;

	for (size_t i = 1; i < s.n && s.p[i] != '\n'; i++) {
		if (s.p[i] == '\\')
			i++;
		else if (s.p[i] == quote)
			return i + 1;
	}
	return 0;
}

/* A single "=" is an assignment, except in the arguments of a call. */
static bool is_operator(struct str s, size_t i, unsigned open)
{
	char c = s.p[i], next = i + 1 < s.n ? s.p[i + 1] : '\0', prev = i > 0 ? s.p[i - 1] : '\0';

	if (c == '=')
		return next == '=' || prev == '=' || prev == '!' || prev == '<' || prev == '>' || open > 0;
	if ((c == '+' || c == '-') && next == c)
		return false;
	return strchr("+-*/%&|^~<>!()[]{},.: \t\n\r;?", c) != NULL;
}

static bool is_pure(struct str s, const char *const *known)
{
	unsigned open = 0;

	for (size_t i = 0; i < s.n;) {
		char c = s.p[i];
		size_t n = 1;

		if (is_letter(c)) {
			while (i + n < s.n && (is_letter(s.p[i + n]) || is_digit(s.p[i + n])))
				n++;
			if (!is_known((struct str) { s.p + i, n }, known) ||
			    (i + n < s.n && (s.p[i + n] == '"' || s.p[i + n] == '\'')))
				return false;
		} else if (is_digit(c)) {
			while (i + n < s.n && (is_digit(s.p[i + n]) || is_letter(s.p[i + n]) || s.p[i + n] == '.'))
				n++;
		} else if (c == '"' || c == '\'') {
			n = literal((struct str) { s.p + i, s.n - i });
			if (n == 0)
				return false;
		} else if (!is_operator(s, i, open)) {
			return false;
		}
		open += c == '(';
		open -= c == ')' && open > 0;
		i += n;
	}
	return true;
}

bool atoll_code_pure(const char *language, const char *code)
{
	const char *name = language ? atoll_language(language) : "python";
	struct str s = str_of(code);

	if (!name || !code || s.n > CODE_MAX || s.n == 0)
		return false;
	if (strcmp(name, "python") == 0)
		return is_pure(s, python_names);
	if (strcmp(name, "javascript") == 0)
		return is_pure(s, js_names);
	return false;
}
