/* SPDX-License-Identifier: Apache-2.0 */
/* client/mock/eval: the subset of Python that the mock understands: one statement per line; names, integers, strings,
 * + - * / // %, parentheses, os.environ['NAME'], print(), time.sleep(), import. Anything else is an error that says
 * that this is a mock. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/fd.h"
#include "client/mock/state.h"
#include "http/json.h"

#define DEPTH_MAX 50

struct eval {
	const struct mock_run *r;
	const char *at;
	unsigned depth;
	char name[32], value[200]; /* of the error; name[0] == 0 if none */
};

static json_t *raise(struct eval *v, const char *name, const char *value)
{
	if (!v->name[0]) {
		(void)snprintf(v->name, sizeof(v->name), "%s", name);
		(void)snprintf(v->value, sizeof(v->value), "%s", value);
	}
	return NULL;
}

static json_t *puzzled(struct eval *v)
{
	return raise(v, "MockError", "this is a mock, which supports very little: the code was not run");
}

static void skip(struct eval *v)
{
	v->at += strspn(v->at, " \t");
}

static bool take(struct eval *v, const char *sign)
{
	size_t n = strlen(sign);

	skip(v);
	if (strncmp(v->at, sign, n) != 0)
		return false;
	v->at += n;
	return true;
}

static size_t name_length(const char *z)
{
	size_t n = strspn(z, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789");

	return *z >= '0' && *z <= '9' ? 0 : n;
}

static json_t *sum(struct eval *v);

static json_t *string(struct eval *v)
{
	char quote = *v->at++;
	size_t n = strcspn(v->at, (char[]) { quote, '\0' });
	json_t *s = json_stringn(v->at, n);

	if (v->at[n] != quote || memchr(v->at, '\\', n)) {
		json_decref(s);
		return puzzled(v);
	}
	v->at += n + 1;
	return s;
}

static json_t *name(struct eval *v)
{
	size_t n = name_length(v->at);
	autofree char *z = str_dup((struct str) { v->at, n });
	char text[120];

	if (n == 0 || !z)
		return puzzled(v);
	v->at += n;
	json_t *value = json_object_get(v->r->vars, z);

	if (value)
		return json_incref(value);
	if (*v->at == '(' || *v->at == '.' || *v->at == '[')
		return puzzled(v);
	(void)snprintf(text, sizeof(text), "name '%.80s' is not defined", z);
	return raise(v, "NameError", text);
}

static json_t *variable(struct eval *v)
{
	skip(v);
	if (*v->at != '\'' && *v->at != '"')
		return puzzled(v);
	autojson json_t *key = string(v);
	const char *z = json_string_value(key);
	json_t *value = z ? json_object_get(v->r->envs, z) : NULL;

	if (!key || !take(v, "]"))
		return puzzled(v);
	return value ? json_incref(value) : raise(v, "KeyError", z);
}

static json_t *atom(struct eval *v)
{
	char *end;

	skip(v);
	if (*v->at == '\'' || *v->at == '"')
		return string(v);
	if (*v->at >= '0' && *v->at <= '9') {
		json_t *number = json_integer(strtoll(v->at, &end, 10));

		v->at = end;
		return number;
	}
	if (take(v, "os.environ["))
		return variable(v);
	if (!take(v, "("))
		return name(v);
	if (++v->depth > DEPTH_MAX)
		return puzzled(v);
	json_t *inner = sum(v);

	v->depth--;
	if (inner && take(v, ")"))
		return inner;
	json_decref(inner);
	return puzzled(v);
}

/* Takes ownership of a and b. */
static json_t *apply(struct eval *v, char op, json_t *a, json_t *b)
{
	autojson json_t *x = a, *y = b;
	json_int_t m = json_integer_value(x), n = json_integer_value(y), r = 0;

	if (op == '+' && json_is_string(x) && json_is_string(y))
		return json_sprintf("%s%s", json_string_value(x), json_string_value(y));
	if (!json_is_number(x) || !json_is_number(y))
		return raise(v, "TypeError", "unsupported operand type(s)");
	if (strchr("/%d", op) && json_number_value(y) == 0)
		return raise(v, "ZeroDivisionError",
		    op == '/' ? "division by zero" : "integer division or modulo by zero");
	if (op == '/')
		return json_real(json_number_value(x) / json_number_value(y));
	if (!json_is_integer(x) || !json_is_integer(y))
		return puzzled(v);
	bool over = op == '+' ? __builtin_add_overflow(m, n, &r)
	    : op == '-'       ? __builtin_sub_overflow(m, n, &r)
	    : op == '*'       ? __builtin_mul_overflow(m, n, &r)
			      : n == -1;

	if (over)
		return puzzled(v);
	if (op == '%' || op == 'd') {
		json_int_t rest = m % n;

		if (rest != 0 && (rest < 0) != (n < 0)) /* the sign follows the divisor, as in Python */
			rest += n;
		r = op == '%' ? rest : (m - rest) / n;
	}
	return json_integer(r);
}

static json_t *product(struct eval *v)
{
	json_t *left = atom(v);

	while (left) {
		char op = take(v, "//") ? 'd' : take(v, "*") ? '*' : take(v, "/") ? '/' : take(v, "%") ? '%' : 0;

		if (!op)
			return left;
		json_t *right = atom(v);

		if (!right) {
			json_decref(left);
			return NULL;
		}
		left = apply(v, op, left, right);
	}
	return NULL;
}

static json_t *sum(struct eval *v)
{
	json_t *left = product(v);

	while (left) {
		char op = take(v, "+") ? '+' : take(v, "-") ? '-' : 0;

		if (!op)
			return left;
		json_t *right = product(v);

		if (!right) {
			json_decref(left);
			return NULL;
		}
		left = apply(v, op, left, right);
	}
	return NULL;
}

static json_t *shown(const json_t *value)
{
	char text[64];

	if (json_is_string(value))
		return json_string(json_string_value(value));
	if (json_is_integer(value))
		return json_sprintf("%" JSON_INTEGER_FORMAT, json_integer_value(value));
	(void)snprintf(text, sizeof(text), "%.12g", json_real_value(value));
	return json_sprintf("%s%s", text, strpbrk(text, ".en") ? "" : ".0");
}

static void say(struct eval *v, const json_t *value)
{
	autojson json_t *text = shown(value);

	v->r->emit(v->r->user,
	    json_pack("{s:s,s:s+,s:s}", "type", "stdout", "text", json_string_value(text), "\n", "timestamp",
		"1970-01-01T00:00:00Z"));
}

static bool at_end(struct eval *v)
{
	skip(v);
	return *v->at == '\0' || *v->at == '#';
}

/* Evaluates the argument after an open parenthesis; the ")" must end the line. */
static json_t *argument(struct eval *v)
{
	json_t *value = sum(v);

	if (value && take(v, ")") && at_end(v))
		return value;
	json_decref(value);
	return puzzled(v);
}

static bool is_assignment(const char *z, size_t n)
{
	z += n;
	z += strspn(z, " \t");
	return n > 0 && z[0] == '=' && z[1] != '=';
}

static enum mock_end statement(struct eval *v, bool is_last)
{
	size_t n = name_length(v->at);
	json_t *value = NULL;

	if (strncmp(v->at, "import ", 7) == 0)
		return MOCK_OK;
	if (take(v, "print(")) {
		value = argument(v);
		if (value)
			say(v, value);
	} else if (take(v, "time.sleep(")) {
		value = argument(v);
		if (value && !v->r->sleep(v->r->user, json_number_value(value))) {
			json_decref(value);
			return MOCK_LEFT;
		}
	} else if (is_assignment(v->at, n)) {
		autofree char *to = str_dup((struct str) { v->at, n });

		v->at = strchr(v->at, '=') + 1;
		value = sum(v);
		if (value && !at_end(v))
			json_decref(value), value = puzzled(v);
		if (value && to)
			(void)json_object_set(v->r->vars, to, value);
	} else {
		value = sum(v);
		if (value && !at_end(v))
			json_decref(value), value = puzzled(v);
		if (value && is_last)
			v->r->emit(v->r->user,
			    json_pack("{s:s,s:b,s:o}", "type", "result", "is_main_result", 1, "text", shown(value)));
	}
	json_decref(value);
	return v->name[0] ? MOCK_RAISED : MOCK_OK;
}

static bool only_blank(struct str rest)
{
	for (size_t i = 0; i < rest.n; i++) {
		if (!strchr(" \t\r\n", rest.p[i]))
			return false;
	}
	return true;
}

enum mock_end mock_eval(const struct mock_run *r, const char *code)
{
	struct str rest = str_of(code);
	enum mock_end end = MOCK_OK;

	while (end == MOCK_OK && rest.n > 0) {
		struct str line = str_trim(str_cut(&rest, '\n'));
		autofree char *text = str_dup(line);
		struct eval v = { .r = r, .at = text };

		if (!text || !*text || *text == '#')
			continue;
		end = statement(&v, only_blank(rest));
		if (end == MOCK_RAISED)
			r->emit(r->user,
			    json_pack("{s:s,s:s,s:s,s:s+++}", "type", "error", "name", v.name, "value", v.value,
				"traceback", v.name, ": ", v.value, "\n"));
	}
	return end;
}
