/* SPDX-License-Identifier: Apache-2.0 */
/* cli/opts: parses the options of a verb. */
#include "cli/opts.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/str.h"
#include "cli/format.h"

#define SECONDS_MAX 1000000000u
#define NUMBER_MAX 1000000000000u

void pairs_done(struct pairs *p)
{
	for (size_t i = 0; i < p->n; i++)
		free((char *)p->v[i].name);
	free(p->v);
}

static int add_pair(struct pairs *p, const struct opt *o, const char *value, struct err *e)
{
	const char *eq = strchr(value, '=');

	if (!eq || eq == value)
		return err_set(e, EINVAL, "option '--%s' needs NAME=VALUE, not '%s'", o->name, value);
	struct atoll_pair *v = reallocarray(p->v, p->n + 1, sizeof(*v));
	if (!v)
		return err_set(e, ENOMEM, "out of memory");
	p->v = v;
	char *name = str_dup((struct str) { value, (size_t)(eq - value) });
	if (!name)
		return err_set(e, ENOMEM, "out of memory");
	v[p->n++] = (struct atoll_pair) { name, eq + 1 };
	return 0;
}

static int take_value(const struct opt *o, const char *value, struct err *e)
{
	uint64_t num;

	switch (o->kind) {
	case OPT_FLAG:
		*(bool *)o->to = true;
		return 0;
	case OPT_STR:
		*(const char **)o->to = value;
		return 0;
	case OPT_SECONDS:
		if (str_to_u64(str_of(value), SECONDS_MAX, &num) < 0 || num == 0)
			return err_set(e, EINVAL, "option '--%s' needs a number of seconds above 0, not '%s'", o->name,
			    value);
		*(unsigned *)o->to = (unsigned)num;
		return 0;
	case OPT_DURATION:
		if (duration_parse(str_of(value), SECONDS_MAX, &num) < 0)
			return err_set(e, EINVAL, "option '--%s' needs a duration such as 90s, 15m or 1h30m, not '%s'",
			    o->name, value);
		*(unsigned *)o->to = (unsigned)num;
		return 0;
	case OPT_LIMIT:
		if (strcmp(value, "default") == 0) {
			*(int64_t *)o->to = ATOLL_DEFAULT;
			return 0;
		}
		/* fall through */
	case OPT_NUMBER:
		if (str_to_u64(str_of(value), NUMBER_MAX, &num) < 0)
			return err_set(e, EINVAL, "option '--%s' needs a number%s, not '%s'", o->name,
			    o->kind == OPT_LIMIT ? " or 'default'" : "", value);
		*(int64_t *)o->to = (int64_t)num;
		return 0;
	case OPT_PAIR:
		return add_pair(o->to, o, value, e);
	}
	return -EINVAL;
}

static const struct opt *find(const struct opt *v, size_t n, struct str name, char letter)
{
	for (size_t i = 0; i < n; i++) {
		if (letter ? v[i].letter == letter : str_is(name, v[i].name))
			return &v[i];
	}
	return NULL;
}

/* Parses an argument that starts with a dash. Returns the number of arguments used, 0 for help, or -EINVAL. */
static int take_option(const struct opt *v, size_t n, int argc, char **argv, struct err *e)
{
	struct str rest = str_of(argv[0]);
	bool is_long = str_starts(rest, "--");
	char letter = is_long ? 0 : argv[0][1];

	str_skip(&rest, is_long ? 2 : 1);
	struct str name = str_cut(&rest, '=');
	const char *value = is_long ? rest.p : argv[0][2] ? argv[0] + 2 : NULL;
	const struct opt *o = find(v, n, name, letter);

	if (!o && (is_long ? str_is(name, "help") : strcmp(argv[0], "-h") == 0))
		return 0;
	if (!o)
		return err_set(e, EINVAL, "unknown option '%.*s'", is_long ? (int)name.n + 2 : 2, argv[0]);
	if (o->kind == OPT_FLAG && value)
		return err_set(e, EINVAL, "option '--%s' takes no value", o->name);
	if (o->kind == OPT_FLAG || value)
		return take_value(o, value, e) < 0 ? -e->no : 1;
	if (argc < 2)
		return err_set(e, EINVAL, "option '--%s' needs a value", o->name);
	return take_value(o, argv[1], e) < 0 ? -e->no : 2;
}

int opts_parse(const struct opt *v, size_t n, int end_after, int argc, char **argv, int *ret_operands, struct err *e)
{
	int operands = 0;
	bool over = false;

	for (int i = 0; i < argc;) {
		if (!over && strcmp(argv[i], "--") == 0) {
			over = true;
			i++;
			continue;
		}
		if (over || argv[i][0] != '-' || argv[i][1] == '\0') {
			argv[operands++] = argv[i++];
			over |= operands >= end_after;
			continue;
		}
		int used = take_option(v, n, argc - i, argv + i, e);
		if (used <= 0)
			return used < 0 ? used : OPTS_HELP;
		i += used;
	}
	*ret_operands = operands;
	return 0;
}
