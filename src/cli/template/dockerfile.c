/* SPDX-License-Identifier: Apache-2.0 */
/* cli/template/dockerfile: parses lines into instructions. */
#include "cli/template/dockerfile.h"

#include <ctype.h>
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/fd.h"

#define LINE_MAX_ (256 * 1024) /* of an instruction with its continuation lines */

static const struct {
	const char *name;
	enum df_kind kind;
} keywords[] = {
	{ "FROM", DF_FROM },
	{ "RUN", DF_RUN },
	{ "COPY", DF_COPY },
	{ "ADD", DF_ADD },
	{ "ENV", DF_ENV },
	{ "ARG", DF_ARG },
	{ "WORKDIR", DF_WORKDIR },
	{ "USER", DF_USER },
	{ "CMD", DF_CMD },
	{ "ENTRYPOINT", DF_ENTRYPOINT },
	{ "SHELL", DF_SHELL },
	{ "ONBUILD", DF_ONBUILD },
	{ "LABEL", DF_IGNORED },
	{ "EXPOSE", DF_IGNORED },
	{ "VOLUME", DF_VOLUME },
	{ "STOPSIGNAL", DF_IGNORED },
	{ "HEALTHCHECK", DF_IGNORED },
	{ "MAINTAINER", DF_IGNORED },
};

struct reader {
	struct str rest; /* p is NULL at the end */
	unsigned line;   /* number of the last line read */
	char escape;
	bool any; /* a line other than a directive was seen */
	struct err *e;
};

static struct str take_line(struct reader *r)
{
	struct str line = str_cut(&r->rest, '\n');

	r->line++;
	if (line.n && line.p[line.n - 1] == '\r')
		line.n--;
	return line;
}

static bool is_blank(struct str s)
{
	return str_trim(s).n == 0;
}

/* Parses a directive such as "# escape=`", which is allowed only at the top. Returns 1 if the line is one. */
static int directive(struct reader *r, struct str line)
{
	struct str value = line;

	str_skip(&value, 1);
	struct str name = str_trim(str_cut(&value, '='));

	if (r->any || !value.p)
		return 0;
	if (!str_ieq(name, STR_LIT("escape")))
		return str_ieq(name, STR_LIT("syntax")) || str_ieq(name, STR_LIT("check"));
	value = str_trim(value);
	if (value.n != 1 || (value.p[0] != '\\' && value.p[0] != '`'))
		return err_set(r->e, EINVAL, "line %u: the escape character must be \\ or `", r->line);
	r->escape = value.p[0];
	return 1;
}

/* Removes the escape character at the end of the line. Returns true if the next line continues this one. */
static bool continues(const struct reader *r, struct str *line)
{
	struct str s = *line;

	while (s.n && (s.p[s.n - 1] == ' ' || s.p[s.n - 1] == '\t'))
		s.n--;
	if (!s.n || s.p[s.n - 1] != r->escape)
		return false;
	line->n = s.n - 1;
	return true;
}

/* Reads one instruction with its continuation lines as one line. Returns 1, 0 at the end, or a negative errno value. */
static int take_logical(struct reader *r, struct buf *out, unsigned *ret_line)
{
	bool more = false;

	while (r->rest.p) {
		struct str line = take_line(r), trimmed = str_trim(line);

		if (trimmed.n == 0)
			continue; /* also within an instruction, as in Docker */
		if (trimmed.p[0] == '#') {
			int d = directive(r, trimmed);

			if (d < 0)
				return d;
			r->any = r->any || d == 0;
			continue;
		}
		r->any = true;
		if (!more)
			*ret_line = r->line;
		struct str part = more ? line : trimmed;

		more = continues(r, &part);
		buf_str(out, part);
		if (out->bad)
			return err_set(r->e, EINVAL, "line %u: the instruction is longer than %d bytes", *ret_line,
			    LINE_MAX_);
		if (!more)
			break;
	}
	return out->n > 0 ? 1 : 0;
}

/* --- heredocs ----------------------------------------------------------------------------------------------------- */

struct mark { /* "<<-'NAME'" */
	struct str name;
	bool expand, tabs;
};

/* Finds the next marker in *s and advances *s past it. */
static bool next_mark(struct str *s, struct mark *ret)
{
	char quote = 0;

	for (; s->n > 2; str_skip(s, 1)) {
		char c = s->p[0];

		if (quote) {
			quote = c == quote ? 0 : quote;
			continue;
		}
		if (c == '"' || c == '\'')
			quote = c;
		if (c != '<' || s->p[1] != '<' || s->p[2] == '<')
			continue;
		str_skip(s, 2);
		*ret = (struct mark) { .expand = true };
		if (s->n && s->p[0] == '-') {
			ret->tabs = true;
			str_skip(s, 1);
		}
		char q = s->n && (s->p[0] == '"' || s->p[0] == '\'') ? s->p[0] : 0;

		if (q)
			str_skip(s, 1);
		size_t n = 0;

		while (n < s->n && (isalnum((unsigned char)s->p[n]) || s->p[n] == '_'))
			n++;
		if (n == 0 || isdigit((unsigned char)s->p[0]) || (q && (n == s->n || s->p[n] != q))) {
			if (s->n == 0)
				return false;
			continue; /* "<<" of an arithmetic expression */
		}
		ret->name = (struct str) { s->p, n };
		ret->expand = !q;
		str_skip(s, n + (q != 0));
		return true;
	}
	return false;
}

static int take_doc(struct reader *r, struct df_instr *in, const struct mark *m)
{
	autobuf struct buf body = BUF_INIT(LINE_MAX_);

	while (r->rest.p) {
		struct str line = take_line(r);

		while (m->tabs && line.n && line.p[0] == '\t')
			str_skip(&line, 1);
		if (str_eq(line, m->name)) {
			struct df_doc *d = &in->docs[in->n_docs++];

			*d = (struct df_doc) { .name = str_dup(m->name),
				.body = body.n ? str_dup(buf_view(&body)) : strdup(""),
				.expand = m->expand };
			return d->name && d->body && !body.bad
			    ? 0
			    : err_set(r->e, ENOMEM, "line %u: the heredoc is too long", in->line);
		}
		buf_str(&body, line);
		buf_ch(&body, '\n');
	}
	return err_set(r->e, EINVAL, "line %u: the heredoc '%.*s' is not terminated", in->line, STR_ARG(m->name));
}

static int take_docs(struct reader *r, struct df_instr *in)
{
	struct str s = str_of(in->text);
	struct mark m;

	if (in->kind != DF_RUN && in->kind != DF_COPY && in->kind != DF_ADD && in->kind != DF_ONBUILD)
		return 0;
	while (next_mark(&s, &m)) {
		if (in->n_docs == DOCKERFILE_DOCS_MAX)
			return err_set(r->e, EINVAL, "line %u: more than %d heredocs", in->line, DOCKERFILE_DOCS_MAX);
		if (take_doc(r, in, &m) < 0)
			return -r->e->no;
	}
	return 0;
}

/* --- one instruction ---------------------------------------------------------------------------------------------- */

static int take_flags(struct df_instr *in, struct str *s, struct err *e)
{
	while (str_starts(*s, "--")) {
		size_t n = 0;

		while (n < s->n && !isspace((unsigned char)s->p[n]))
			n++;
		struct str value = { s->p + 2, n - 2 };
		struct str name = str_cut(&value, '=');
		struct df_flag *f = &in->flags[in->n_flags];

		if (in->n_flags == DOCKERFILE_FLAGS_MAX)
			return err_set(e, EINVAL, "line %u: more than %d flags", in->line, DOCKERFILE_FLAGS_MAX);
		*f = (struct df_flag) { .name = str_dup(name), .value = value.p ? str_dup(value) : strdup("") };
		in->n_flags++;
		if (!f->name || !f->value)
			return err_set(e, ENOMEM, "out of memory");
		str_skip(s, n);
		while (s->n && isspace((unsigned char)s->p[0]))
			str_skip(s, 1);
	}
	return 0;
}

/* Returns false if the text is not an array of strings: it is in shell form then. */
static bool take_array(struct df_instr *in)
{
	json_t *j = in->text[0] == '[' ? json_loads(in->text, 0, NULL) : NULL, *v;
	size_t i;
	bool good = json_is_array(j);

	json_array_foreach(j, i, v) good = good && json_is_string(v);
	in->words = good ? calloc(json_array_size(j) + 1, sizeof(char *)) : NULL;
	if (in->words) {
		json_array_foreach(j, i, v)
		{
			in->words[i] = strdup(json_string_value(v));
			good = good && in->words[i];
		}
		in->n_words = json_array_size(j);
	}
	json_decref(j);
	in->exec = in->words != NULL;
	return in->exec && good;
}

static int put_pair(struct df_instr *in, char **v, size_t *n, const char *word, bool need_value, struct err *e)
{
	const char *eq = strchr(word, '=');

	if (!eq && need_value)
		return err_set(e, EINVAL, "line %u: '%.60s' must be NAME=VALUE", in->line, word);
	v[*n] = str_dup((struct str) { word, eq ? (size_t)(eq - word) : strlen(word) });
	v[*n + 1] = eq ? strdup(eq + 1) : NULL; /* ARG NAME without a value */
	if (!v[*n] || (eq && !v[*n + 1]))
		return err_set(e, ENOMEM, "out of memory");
	*n += 2;
	return v[*n - 2][0] ? 0 : err_set(e, EINVAL, "line %u: a name is empty", in->line);
}

/* Parses ENV A=1 B=2 and ARG A B=2, and the old form ENV A VALUE, whose value is the rest of the line. */
static int take_pairs(struct df_instr *in, char **words, size_t n_words, struct err *e)
{
	size_t n = 0;

	in->words = calloc(2 * n_words + 2, sizeof(char *));
	if (!in->words)
		return err_set(e, ENOMEM, "out of memory");
	if (in->kind == DF_ENV && !strchr(words[0], '=')) {
		const char *value = in->text + strcspn(in->text, " \t");

		if (n_words < 2)
			return err_set(e, EINVAL, "line %u: ENV needs a name and a value", in->line);
		in->words[0] = strdup(words[0]);
		in->words[1] = str_dup(str_trim(str_of(value)));
		in->n_words = 2;
		return in->words[0] && in->words[1] ? 0 : err_set(e, ENOMEM, "out of memory");
	}
	for (size_t i = 0; i < n_words; i++) {
		int r = put_pair(in, in->words, &n, words[i], in->kind == DF_ENV, e);

		in->n_words = n;
		if (r < 0)
			return r;
	}
	return 0;
}

static int take_words(struct df_instr *in, struct err *e)
{
	char **words = NULL;
	size_t n = 0;
	bool may_be_array = in->kind == DF_RUN || in->kind == DF_COPY || in->kind == DF_ADD || in->kind == DF_CMD ||
	    in->kind == DF_ENTRYPOINT || in->kind == DF_SHELL || in->kind == DF_VOLUME;

	if (may_be_array && take_array(in))
		return 0;
	if (in->exec)
		return err_set(e, ENOMEM, "out of memory");
	if (in->kind == DF_RUN || in->kind == DF_CMD || in->kind == DF_ENTRYPOINT || in->kind == DF_IGNORED ||
	    in->kind == DF_ONBUILD || in->kind == DF_SHELL)
		return 0; /* left to a shell */
	int r = df_split(str_of(in->text), &words, &n);

	if (r < 0)
		return err_set(e, -r, "line %u: a quote is not closed, or there are too many words", in->line);
	if (n == 0) {
		df_free_words(words, n);
		return err_set(e, EINVAL, "line %u: %s needs an argument", in->line, in->keyword);
	}
	if (in->kind != DF_ENV && in->kind != DF_ARG) {
		in->words = words;
		in->n_words = n;
		return 0;
	}
	r = take_pairs(in, words, n, e);
	df_free_words(words, n);
	return r;
}

static int take_instr(struct reader *r, struct str s, struct df_instr *in)
{
	size_t n = 0;

	while (n < s.n && !isspace((unsigned char)s.p[n]))
		n++;
	in->keyword = str_dup((struct str) { s.p, n });
	if (!in->keyword)
		return err_set(r->e, ENOMEM, "out of memory");
	in->kind = (enum df_kind) - 1;
	for (size_t i = 0; i < ARRAY_LEN(keywords); i++) {
		if (strcasecmp(keywords[i].name, in->keyword) == 0)
			in->kind = keywords[i].kind;
	}
	for (char *p = in->keyword; *p; p++)
		*p = (char)toupper((unsigned char)*p);
	if (in->kind == (enum df_kind) - 1)
		return err_set(r->e, EINVAL, "line %u: unknown instruction '%.40s'", in->line, in->keyword);
	str_skip(&s, n);
	while (s.n && isspace((unsigned char)s.p[0]))
		str_skip(&s, 1);
	if ((in->kind == DF_FROM || in->kind == DF_RUN || in->kind == DF_COPY || in->kind == DF_ADD) &&
	    take_flags(in, &s, r->e) < 0)
		return -r->e->no;
	in->text = str_dup(s);
	if (!in->text)
		return err_set(r->e, ENOMEM, "out of memory");
	if (!is_blank(s) || in->kind == DF_IGNORED)
		return take_docs(r, in) < 0 ? -r->e->no : take_words(in, r->e);
	return err_set(r->e, EINVAL, "line %u: %s needs an argument", in->line, in->keyword);
}

static void instr_done(struct df_instr *in)
{
	free(in->keyword);
	free(in->text);
	for (size_t i = 0; i < in->n_flags; i++) {
		free(in->flags[i].name);
		free(in->flags[i].value);
	}
	for (size_t i = 0; i < in->n_docs; i++) {
		free(in->docs[i].name);
		free(in->docs[i].body);
	}
	df_free_words(in->words, in->n_words);
}

void dockerfile_done(struct dockerfile *d)
{
	for (size_t i = 0; i < d->n; i++)
		instr_done(&d->v[i]);
	free(d->v);
	*d = (struct dockerfile) { 0 };
}

static int parse_all(struct reader *r, struct dockerfile *d)
{
	for (;;) {
		autobuf struct buf line = BUF_INIT(LINE_MAX_);
		unsigned at = 0;
		int got = take_logical(r, &line, &at);

		if (got <= 0)
			return got;
		if (d->n == DOCKERFILE_INSTR_MAX)
			return err_set(r->e, EINVAL, "line %u: more than %d instructions", at, DOCKERFILE_INSTR_MAX);
		d->v[d->n] = (struct df_instr) { .line = at };
		d->n++;
		if (take_instr(r, buf_view(&line), &d->v[d->n - 1]) < 0)
			return -r->e->no;
	}
}

int dockerfile_parse(struct str text, struct dockerfile *ret, struct err *e)
{
	struct reader r = { .rest = text, .escape = '\\', .e = e };
	struct dockerfile d = { .v = calloc(DOCKERFILE_INSTR_MAX, sizeof(struct df_instr)) };

	if (!d.v)
		return err_set(e, ENOMEM, "out of memory");
	if (text.n > DOCKERFILE_MAX || (text.n && memchr(text.p, '\0', text.n))) {
		dockerfile_done(&d);
		return err_set(e, EINVAL, "larger than %d bytes, or not text", DOCKERFILE_MAX);
	}
	int got = text.n ? parse_all(&r, &d) : 0;

	if (got < 0) {
		dockerfile_done(&d);
		return got;
	}
	*ret = d;
	return 0;
}

const char *df_flag_get(const struct df_instr *in, const char *name)
{
	for (size_t i = 0; i < in->n_flags; i++) {
		if (strcmp(in->flags[i].name, name) == 0)
			return in->flags[i].value;
	}
	return NULL;
}
