/* SPDX-License-Identifier: Apache-2.0 */
/* cli/dockerfile_words: words and variables in a line of a Dockerfile. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "cli/dockerfile.h"

#define WORD_MAX (256 * 1024)
#define WORDS_MAX 1000

void df_free_words(char **v, size_t n)
{
	for (size_t i = 0; v && i < n; i++)
		free(v[i]);
	free(v);
}

/* One word from *s; quotes inside are taken away. -EINVAL: no end of a quote. */
static int take_word(struct str *s, struct buf *out)
{
	char quote = 0;

	while (s->n && (quote || !isspace((unsigned char)s->p[0]))) {
		char c = s->p[0];

		if (quote != '\'' && c == '\\' && s->n > 1 && (!quote || s->p[1] == '"' || s->p[1] == '\\' || s->p[1] == '$')) {
			if (s->p[1] == '$')
				buf_ch(out, '\\');	/* it must not be expanded later */
			buf_ch(out, s->p[1]);
			str_skip(s, 2);
			continue;
		}
		if (!quote && (c == '"' || c == '\''))
			quote = c;
		else if (quote && c == quote)
			quote = 0;
		else if (quote == '\'' && c == '$')
			buf_z(out, "\\$");
		else
			buf_ch(out, c);
		str_skip(s, 1);
	}
	return quote ? -EINVAL : 0;
}

int df_split(struct str text, char ***ret, size_t *ret_n)
{
	char **v = calloc(WORDS_MAX, sizeof(char *));
	size_t n = 0;
	int r = v ? 0 : -ENOMEM;

	while (r == 0) {
		autobuf struct buf word = BUF_INIT(WORD_MAX);

		while (text.n && isspace((unsigned char)text.p[0]))
			str_skip(&text, 1);
		if (!text.n)
			break;
		r = n == WORDS_MAX ? -EINVAL : take_word(&text, &word);
		if (r == 0) {
			v[n] = word.bad ? NULL : str_dup(buf_view(&word));
			r = v[n] ? 0 : -ENOMEM;
			n += r == 0;
		}
	}
	if (r < 0) {
		df_free_words(v, n);
		return r;
	}
	*ret = v;
	*ret_n = n;
	return 0;
}

/* --- variables ---------------------------------------------------------------------------------------------------- */

static size_t name_length(const char *p)
{
	size_t n = 0;

	while (isalnum((unsigned char)p[n]) || p[n] == '_')
		n++;
	return n > 0 && isdigit((unsigned char)p[0]) ? 0 : n;
}

struct lookup {
	const char *(*value)(void *user, const char *name);
	void *user;
};

static const char *value_of(const struct lookup *l, const char *p, size_t n)
{
	autofree char *name = str_dup((struct str) { p, n });

	return name ? l->value(l->user, name) : NULL;
}

static size_t expand_braces(const char *p, const struct lookup *l, struct buf *out)
{
	size_t n = name_length(p);
	const char *value = n ? value_of(l, p, n) : NULL, *end = n ? strchr(p + n, '}') : NULL;

	if (!end)
		return 0;
	struct str rest = { p + n, (size_t)(end - (p + n)) };

	if (rest.n == 0)
		buf_z(out, value ? value : "");
	else if (str_starts(rest, ":-"))
		buf_str(out, value && *value ? str_of(value) : (struct str) { rest.p + 2, rest.n - 2 });
	else if (str_starts(rest, ":+"))
		buf_str(out, value && *value ? (struct str) { rest.p + 2, rest.n - 2 } : STR_NULL);
	else
		return 0;
	return (size_t)(end - p) + 1;
}

void df_expand(const char *text, const char *(*value)(void *user, const char *name), void *user, struct buf *out)
{
	const struct lookup l = { value, user };

	for (const char *p = text; *p;) {
		size_t n;

		if (p[0] == '\\' && p[1] == '$') {
			buf_ch(out, '$');
			p += 2;
		} else if (p[0] == '$' && p[1] == '{' && (n = expand_braces(p + 2, &l, out)) > 0) {
			p += 2 + n;
		} else if (p[0] == '$' && (n = name_length(p + 1)) > 0) {
			const char *v = value_of(&l, p + 1, n);

			buf_z(out, v ? v : "");
			p += 1 + n;
		} else {
			buf_ch(out, *p++);
		}
	}
}
