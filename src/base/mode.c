/* SPDX-License-Identifier: Apache-2.0 */
/* mode: CLAUSE,CLAUSE...; a clause is a list of classes, then one or more operators with permissions. */
#include "base/mode.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define ALL (S_IRWXU | S_IRWXG | S_IRWXO)

static mode_t take_who(const char **p)
{
	mode_t who = 0;

	for (; **p && strchr("ugoa", **p); ++*p)
		who |= **p == 'u' ? S_IRWXU | S_ISUID
		    : **p == 'g'  ? S_IRWXG | S_ISGID
		    : **p == 'o'  ? S_IRWXO
				  : ALL | S_ISUID | S_ISGID;
	return who;
}

/* The permissions of one class (u, g or o), repeated for all three. */
static mode_t copy_of(char whose, mode_t m)
{
	mode_t bits = (whose == 'u' ? m >> 6 : whose == 'g' ? m >> 3 : m) & 7;

	return bits << 6 | bits << 3 | bits;
}

/* Returns the permissions for all classes; the caller masks them. The sticky bit belongs to no class. */
static mode_t take_perms(const char **p, mode_t m, bool is_dir)
{
	mode_t perms = 0;

	if (**p && strchr("ugo", **p))
		return copy_of(*(*p)++, m);
	for (; **p && strchr("rwxXst", **p); ++*p) {
		switch (**p) {
		case 'r':
			perms |= 0444;
			break;
		case 'w':
			perms |= 0222;
			break;
		case 'x':
			perms |= 0111;
			break;
		case 'X':
			perms |= is_dir || (m & 0111) ? 0111 : 0;
			break;
		case 's':
			perms |= S_ISUID | S_ISGID;
			break;
		default:
			perms |= S_ISVTX;
			break;
		}
	}
	return perms;
}

static int take_clause(const char **p, mode_t *m, bool is_dir)
{
	mode_t who = take_who(p);
	mode_t mask = (who ? who : ALL | S_ISUID | S_ISGID) | S_ISVTX;

	if (!**p || !strchr("+-=", **p))
		return -EINVAL;
	while (**p && strchr("+-=", **p)) {
		char op = *(*p)++;
		mode_t perms = take_perms(p, *m, is_dir) & mask;

		if (op == '=')
			*m &= ~(mask & (who ? ~(mode_t)S_ISVTX : ~(mode_t)0));
		*m = op == '-' ? *m & ~perms : *m | perms;
	}
	return **p == ',' && (*p)[1] ? ++*p, 0 : **p ? -EINVAL : 0;
}

int mode_change(const char *text, mode_t old, bool is_dir, mode_t *ret)
{
	mode_t m = old & 07777;
	char *end;

	if (text[0] >= '0' && text[0] <= '7') {
		unsigned long octal = strtoul(text, &end, 8);

		if (*end || octal > 07777)
			return -EINVAL;
		*ret = (mode_t)octal;
		return 0;
	}
	do {
		if (take_clause(&text, &m, is_dir) < 0)
			return -EINVAL;
	} while (*text);
	*ret = m;
	return 0;
}
