/* SPDX-License-Identifier: Apache-2.0 */
/* cli/template/dockerfile_words: splits and expands a line of a Dockerfile. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "cli/template/dockerfile.h"

#define WORD_MAX (256 * 1024)
#define WORDS_MAX 1000

void df_free_words(char **v, size_t n)
{
	for (size_t i = 0; v && i < n; i++)
		free(v[i]);
	free(v);
}

static size_t name_length(const char *p, size_t n)
{
	size_t i = 0;

	while (i < n && (isalnum((unsigned char)p[i]) || p[i] == '_'))
		i++;
	return i > 0 && isdigit((unsigned char)p[0]) ? 0 : i;
}

/* Writes "$NAME" directly before a quote as "${NAME}", because the quote that delimits the name is removed. */
static bool take_name(struct str *s, struct buf *out)
{
	size_t n = name_length(s->p + 1, s->n - 1);

	if (n == 0 || 1 + n == s->n || (s->p[1 + n] != '"' && s->p[1 + n] != '\''))
		return false;
	buf_z(out, "${");
	buf_put(out, s->p + 1, n);
	buf_ch(out, '}');
	str_skip(s, 1 + n);
	return true;
}

/* Reads one word from *s and removes the quotes in it. Returns -EINVAL if a quote is not closed. */
static int take_word(struct str *s, struct buf *out)
{
	char quote = 0;

	while (s->n && (quote || !isspace((unsigned char)s->p[0]))) {
		char c = s->p[0];

		if (quote != '\'' && c == '\\' && s->n > 1 &&
		    (!quote || s->p[1] == '"' || s->p[1] == '\\' || s->p[1] == '$')) {
			if (s->p[1] == '$')
				buf_ch(out, '\\'); /* prevents a later expansion */
			buf_ch(out, s->p[1]);
			str_skip(s, 2);
			continue;
		}
		if (quote != '\'' && c == '$' && take_name(s, out))
			continue;
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

struct lookup {
	const char *(*value)(void *user, const char *name);
	void *user;
	bool some; /* leave unset variables as they are */
};

static const char *value_of(const struct lookup *l, const char *p, size_t n)
{
	autofree char *name = str_dup((struct str) { p, n });

	return name ? l->value(l->user, name) : NULL;
}

static void expand_all(const char *text, const struct lookup *l, struct buf *out);

/* Returns the matching '}', skipping nested ones. */
static const char *end_of(const char *p)
{
	for (unsigned depth = 0; *p; p++) {
		if (p[0] == '\\' && p[1])
			p++;
		else if (p[0] == '$' && p[1] == '{')
			depth++;
		else if (*p == '}' && depth-- == 0)
			return p;
	}
	return NULL;
}

/* Expands the text after "${". Returns its length including the '}', or 0 if it is malformed or not expanded here. */
static size_t expand_braces(const char *p, const struct lookup *l, struct buf *out)
{
	size_t n = name_length(p, strlen(p));
	const char *value = n ? value_of(l, p, n) : NULL, *end = n ? end_of(p + n) : NULL;

	if (!end || (!value && l->some))
		return 0;
	struct str rest = { p + n, (size_t)(end - (p + n)) };
	bool colon = rest.n > 0 && rest.p[0] == ':', has = value && (!colon || *value);

	if (colon)
		str_skip(&rest, 1);
	autofree char *word = rest.n > 1 ? str_dup((struct str) { rest.p + 1, rest.n - 1 }) : NULL;

	if (rest.n == 0 && !colon)
		buf_z(out, value ? value : "");
	else if (rest.n > 0 && rest.p[0] == '-' && has)
		buf_z(out, value);
	else if (rest.n > 0 && rest.p[0] == (has ? '+' : '-') && word)
		expand_all(word, l, out);
	else if (rest.n == 0 || !strchr("-+", rest.p[0]))
		return 0;
	return (size_t)(end - p) + 1;
}

static void expand_all(const char *text, const struct lookup *l, struct buf *out)
{
	for (const char *p = text; *p;) {
		size_t n;

		if (p[0] == '\\' && p[1] == '$') {
			buf_z(out, l->some ? "\\$" : "$");
			p += 2;
		} else if (p[0] == '$' && p[1] == '{' && (n = expand_braces(p + 2, l, out)) > 0) {
			p += 2 + n;
		} else if (p[0] == '$' && (n = name_length(p + 1, strlen(p + 1))) > 0) {
			const char *v = value_of(l, p + 1, n);

			if (v || !l->some)
				buf_z(out, v ? v : "");
			else
				buf_put(out, p, 1 + n);
			p += 1 + n;
		} else {
			buf_ch(out, *p++);
		}
	}
}

void df_expand(const char *text, const char *(*value)(void *user, const char *name), void *user, struct buf *out)
{
	expand_all(text, &(struct lookup) { value, user, false }, out);
}

void df_expand_some(const char *text, const char *(*value)(void *user, const char *name), void *user, struct buf *out)
{
	expand_all(text, &(struct lookup) { value, user, true }, out);
}
