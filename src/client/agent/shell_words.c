/* SPDX-License-Identifier: Apache-2.0 */
/* client/agent/shell_words: parses the commands of a shell script. A recursive descent parser over bytes; depth,
 * commands and bytes are limited. */
#include "client/agent/shell_words.h"

#include <errno.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/fd.h"

#define HEREDOCS_MAX 16

struct heredoc {   /* its content starts on the next line */
	size_t to; /* index of the command that reads it; SIZE_MAX until it is known */
	char *end;
	bool strip_tabs;
};

struct parser {
	struct str in;
	size_t at;
	struct shell_script *out;
	unsigned depth;
	int rc; /* first error; sticky */
};

struct list { /* a list of commands, up to its end */
	struct parser *p;
	char end;                              /* ')' '}' or 0 */
	size_t inherited_first, inherited_end; /* commands piped into a group */
	size_t pipeline;                       /* index of the first command of the current pipeline */
	bool piped;                            /* the next command reads from the pipeline */
	struct shell_command cmd;              /* being parsed */
	size_t cmd_first;                      /* index of the first command nested in cmd */
	struct buf word;
	bool in_word, quoted;
	size_t sub_first;
	struct heredoc docs[HEREDOCS_MAX];
	size_t n_docs;
};

static void parse_list(struct parser *p, char end, size_t from_first, size_t from_end);

static int peek(const struct parser *p, size_t ahead)
{
	return p->at + ahead < p->in.n ? (unsigned char)p->in.p[p->at + ahead] : -1;
}

static bool fits(struct parser *p, int rc)
{
	if (p->rc == 0 && rc < 0)
		p->rc = rc;
	return p->rc == 0;
}

/* --- commands and words --- */

static void command_done(struct shell_command *c)
{
	for (size_t i = 0; i < c->n_words; i++)
		free(c->words[i].text);
	free(c->words);
	free(c->input);
	*c = (struct shell_command) { 0 };
}

void shell_done(struct shell_script *s)
{
	for (size_t i = 0; i < s->n; i++)
		command_done(&s->v[i]);
	free(s->v);
	*s = (struct shell_script) { 0 };
}

static void *grown(void *v, size_t n, size_t item)
{
	return n && (n & (n - 1)) ? v : realloc(v, (n ? 2 * n : 1) * item);
}

static void word_begin(struct list *l)
{
	if (l->in_word)
		return;
	l->in_word = true;
	l->sub_first = l->p->out->n;
}

static char *word_take(struct list *l)
{
	char *text = str_dup(l->word.p ? buf_view(&l->word) : STR_LIT(""));

	(void)fits(l->p, text ? 0 : -ENOMEM);
	buf_clear(&l->word);
	l->in_word = l->quoted = false;
	return text;
}

static void word_end(struct list *l)
{
	struct shell_command *c = &l->cmd;

	if (!l->in_word)
		return;
	struct shell_word *v = grown(c->words, c->n_words, sizeof *v);

	if (!v) {
		(void)fits(l->p, -ENOMEM);
		return;
	}
	c->words = v;
	size_t first = l->sub_first;
	char *text = word_take(l);

	if (text)
		v[c->n_words++] = (struct shell_word) { text, first, l->p->out->n };
}

/* Keywords that only structure commands. */
static bool is_keyword(const char *z)
{
	static const char *const all[] = { "!", "if", "then", "elif", "else", "fi", "while", "until", "do", "done",
		"time", "}", "coproc" };

	for (size_t i = 0; i < ARRAY_LEN(all); i++) {
		if (strcmp(all[i], z) == 0)
			return true;
	}
	return false;
}

static void drop_first(struct shell_command *c)
{
	free(c->words[0].text);
	memmove(c->words, c->words + 1, (c->n_words - 1) * sizeof *c->words);
	c->n_words--;
}

static void command_end(struct list *l)
{
	struct shell_script *s = l->p->out;
	struct shell_command *c = &l->cmd;

	word_end(l);
	while (c->n_words > 0 && is_keyword(c->words[0].text))
		drop_first(c);
	if (c->n_words > 0 && l->p->rc == 0) {
		struct shell_command *v = s->n < SHELL_COMMANDS_MAX ? grown(s->v, s->n, sizeof *v) : NULL;

		if (!fits(l->p, v ? 0 : -E2BIG))
			return;
		s->v = v;
		c->from_first = l->piped ? l->pipeline : l->inherited_first;
		c->from_end = l->piped ? l->cmd_first : l->inherited_end;
		for (size_t i = 0; i < l->n_docs; i++) {
			if (l->docs[i].to == SIZE_MAX)
				l->docs[i].to = s->n;
		}
		v[s->n++] = *c;
		*c = (struct shell_command) { 0 };
	}
	command_done(c);
	l->cmd_first = s->n;
}

static void pipeline_end(struct list *l)
{
	command_end(l);
	l->piped = false;
	l->pipeline = l->cmd_first = l->p->out->n;
}

/* --- quotes and substitutions, which are parts of words --- */

static void skip_arithmetic(struct list *l);

/* Parses a nested list after $( or <( or (. */
static void nested(struct list *l, char end, size_t from_first, size_t from_end)
{
	struct parser *p = l->p;

	if (!fits(p, p->depth >= SHELL_DEPTH_MAX ? -E2BIG : 0))
		return;
	p->depth++;
	parse_list(p, end, from_first, from_end);
	p->depth--;
}

static void backticks(struct list *l)
{
	struct parser *p = l->p;
	autobuf struct buf text = BUF_INIT(SHELL_TEXT_MAX);

	p->at++;
	for (int c; (c = peek(p, 0)) >= 0 && c != '`'; p->at++) {
		int next = peek(p, 1);

		if (c == '\\' && (next == '`' || next == '\\' || next == '$')) {
			p->at++;
			c = next;
		}
		buf_ch(&text, (char)c);
	}
	p->at++;
	if (!fits(p, text.bad ? -E2BIG : p->depth >= SHELL_DEPTH_MAX ? -E2BIG : 0))
		return;
	struct parser inner = { .in = buf_view(&text), .out = p->out, .depth = p->depth + 1 };

	parse_list(&inner, 0, 0, 0);
	(void)fits(p, inner.rc);
}

/* True at ${IFS} and $IFS, which stand for a space. Other variables are not expanded. */
static bool is_ifs(struct parser *p)
{
	struct str rest = { p->in.p + p->at, p->in.n - p->at };
	size_t n = str_starts(rest, "${IFS}") ? 6 : str_starts(rest, "$IFS") ? 4 : 0;

	if (n == 0 ||
	    (n == 4 && rest.n > 4 &&
		(rest.p[4] == '_' || (rest.p[4] >= '0' && rest.p[4] <= '9') ||
		    ((rest.p[4] | 32) >= 'a' && (rest.p[4] | 32) <= 'z'))))
		return false;
	p->at += n;
	return true;
}

/* True if "((" at `at` ends with "))". Otherwise, as in a shell, it is a group within a group. */
static bool is_arithmetic(const struct parser *p, size_t at)
{
	unsigned open = 0;

	for (size_t i = at; i < p->in.n; i++) {
		open += p->in.p[i] == '(';
		if (p->in.p[i] == ')' && --open == 0)
			return p->in.p[i - 1] == ')';
	}
	return false;
}

static void dollar(struct list *l, bool in_quotes)
{
	struct parser *p = l->p;

	if (peek(p, 1) == '(' && peek(p, 2) == '(' && is_arithmetic(p, p->at + 1)) {
		p->at++;
		skip_arithmetic(l);
	} else if (peek(p, 1) == '(') {
		p->at += 2;
		nested(l, ')', 0, 0);
	} else if (is_ifs(p)) {
		if (in_quotes)
			buf_ch(&l->word, ' ');
		else if (l->word.n > 0 || l->quoted)
			word_end(l);
		else
			l->in_word = false;
	} else {
		buf_ch(&l->word, '$');
		p->at++;
	}
}

/* Skips an arithmetic expression, from its "((". "<<" is a shift there, not a here-document. Substitutions are
 * parsed. */
static void skip_arithmetic(struct list *l)
{
	struct parser *p = l->p;
	unsigned open = 0;

	for (int c; p->rc == 0 && (c = peek(p, 0)) >= 0;) {
		if (c == '`') {
			backticks(l);
			continue;
		}
		if (c == '$' && peek(p, 1) == '(' && peek(p, 2) != '(') {
			p->at += 2;
			nested(l, ')', 0, 0);
			continue;
		}
		p->at++;
		open += c == '(';
		if (c == ')' && --open == 0)
			return;
	}
}

static void double_quotes(struct list *l)
{
	struct parser *p = l->p;

	p->at++;
	for (int c; p->rc == 0 && (c = peek(p, 0)) >= 0 && c != '"';) {
		int next = peek(p, 1);

		if (c == '$') {
			dollar(l, true);
		} else if (c == '`') {
			backticks(l);
		} else if (c == '\\' && next >= 0 && strchr("$`\"\\\n", next)) {
			if (next != '\n')
				buf_ch(&l->word, (char)next);
			p->at += 2;
		} else {
			buf_ch(&l->word, (char)c);
			p->at++;
		}
	}
	p->at++;
}

static void single_quotes(struct list *l)
{
	struct parser *p = l->p;
	const char *from = p->in.p + p->at + 1,
		   *end = p->at + 1 < p->in.n ? memchr(from, '\'', p->in.n - p->at - 1) : NULL;
	size_t n = end ? (size_t)(end - from) : p->at + 1 < p->in.n ? p->in.n - p->at - 1 : 0;

	buf_put(&l->word, from, n);
	p->at += n + 2;
}

static int digit(int c)
{
	return c >= '0' && c <= '9' ? c - '0' : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10 : 99;
}

/* Reads a number of at most `max` digits at p->at. */
static char escaped_number(struct parser *p, int base, int max)
{
	int v = 0;

	for (; max > 0 && digit(peek(p, 0)) < base; max--)
		v = v * base + digit(peek(p, 0)), p->at++;
	return (char)v;
}

/* $'...' */
static void ansi_quotes(struct list *l)
{
	static const char from[] = "abefnrtv", to[] = "\a\b\033\f\n\r\t\v";
	struct parser *p = l->p;

	p->at += 2;
	for (int c; (c = peek(p, 0)) >= 0 && c != '\'';) {
		p->at++;
		int next = peek(p, 0);

		if (c != '\\' || next < 0) {
			buf_ch(&l->word, (char)c);
			continue;
		}
		const char *known = strchr(from, next);

		p->at++;
		if (next == 'x' || next == 'u')
			buf_ch(&l->word, escaped_number(p, 16, next == 'x' ? 2 : 4));
		else if (digit(next) < 8)
			p->at--, buf_ch(&l->word, escaped_number(p, 8, 3));
		else
			buf_ch(&l->word, known && next ? to[known - from] : (char)next);
	}
	p->at++;
}

/* --- redirections --- */

/* Reads the word after a redirection, which is not an argument. Stops before the character that ends the word. */
static char *redirect_word(struct list *l);

static void heredoc_begin(struct list *l)
{
	struct parser *p = l->p;
	bool strip = peek(p, 0) == '-';

	p->at += strip;
	char *end = redirect_word(l);

	if (l->n_docs < HEREDOCS_MAX && end)
		l->docs[l->n_docs++] = (struct heredoc) { .to = SIZE_MAX, .end = end, .strip_tabs = strip };
	else
		free(end);
}

static struct str next_line(struct parser *p)
{
	struct str rest = { p->in.p + p->at, p->in.n - p->at };
	struct str line = str_cut(&rest, '\n');

	p->at += line.n + (rest.p != NULL);
	return line;
}

/* Reads the content of here-documents, which follows the line. */
static void heredocs_read(struct list *l)
{
	struct parser *p = l->p;

	for (size_t i = 0; i < l->n_docs; i++) {
		struct heredoc *d = &l->docs[i];
		autobuf struct buf text = BUF_INIT(SHELL_TEXT_MAX);

		while (p->at < p->in.n) {
			struct str line = next_line(p);

			while (d->strip_tabs && line.n > 0 && *line.p == '\t')
				str_skip(&line, 1);
			if (str_is(line, d->end))
				break;
			buf_str(&text, line);
			buf_ch(&text, '\n');
		}
		struct shell_command *to = d->to < p->out->n ? &p->out->v[d->to] : NULL;

		if (to && !to->input)
			to->input = str_dup(text.p ? buf_view(&text) : STR_LIT(""));
		free(d->end);
	}
	l->n_docs = 0;
}

static void less_than(struct list *l)
{
	struct parser *p = l->p;

	p->at++;
	if (peek(p, 0) == '(') {
		word_begin(l);
		p->at++;
		nested(l, ')', 0, 0);
		word_end(l);
	} else if (peek(p, 0) == '<' && peek(p, 1) == '<') {
		p->at += 2;
		char *text = redirect_word(l);

		free(l->cmd.input);
		l->cmd.input = text;
	} else if (peek(p, 0) == '<') {
		p->at++;
		heredoc_begin(l);
	} else {
		p->at += peek(p, 0) == '&' || peek(p, 0) == '>';
		free(redirect_word(l));
	}
}

static void greater_than(struct list *l)
{
	struct parser *p = l->p;

	p->at++;
	p->at += peek(p, 0) == '>' || peek(p, 0) == '|' || peek(p, 0) == '&';
	while (peek(p, 0) == ' ')
		p->at++;
	if (peek(p, 0) == '>' && peek(p, 1) == '(') { /* > >(sh): sh reads what the command writes */
		/* The writing command is not in the list yet. Append it, and parse the rest as another command. */
		size_t first = l->pipeline;

		p->at += 2;
		command_end(l);
		nested(l, ')', first, p->out->n);
		l->cmd_first = p->out->n;
		return;
	}
	free(redirect_word(l));
}

/* --- lists --- */

static bool all_digits(const struct buf *b)
{
	for (size_t i = 0; i < b->n; i++) {
		if (b->p[i] < '0' || b->p[i] > '9')
			return false;
	}
	return b->n > 0;
}

/* Parses one step of a word. Returns false if c is not part of a word. */
static bool word_step(struct list *l, int c)
{
	struct parser *p = l->p;

	if (strchr(" \t\r\n;&|()<>", c) && c != 0)
		return false;
	word_begin(l);
	if (c == '\'') {
		l->quoted = true;
		single_quotes(l);
	} else if (c == '"') {
		l->quoted = true;
		double_quotes(l);
	} else if (c == '$' && peek(p, 1) == '\'') {
		l->quoted = true;
		ansi_quotes(l);
	} else if (c == '$') {
		dollar(l, false);
	} else if (c == '`') {
		backticks(l);
	} else if (c == '\\') {
		if (peek(p, 1) >= 0 && peek(p, 1) != '\n')
			buf_ch(&l->word, (char)peek(p, 1));
		else if (l->word.n == 0 && !l->quoted)
			l->in_word = false;
		l->quoted |= peek(p, 1) != '\n';
		p->at += 2;
	} else {
		buf_ch(&l->word, (char)c);
		p->at++;
	}
	(void)fits(p, l->word.bad ? -E2BIG : 0);
	return true;
}

static char *redirect_word(struct list *l)
{
	struct parser *p = l->p;

	word_end(l);
	while (peek(p, 0) == ' ' || peek(p, 0) == '\t')
		p->at++;
	for (int c; p->rc == 0 && (c = peek(p, 0)) >= 0;) {
		if (!word_step(l, c))
			break;
	}
	return l->in_word ? word_take(l) : NULL;
}

static void skip_comment(struct parser *p)
{
	while (peek(p, 0) >= 0 && peek(p, 0) != '\n')
		p->at++;
}

static void group(struct list *l, char end)
{
	struct parser *p = l->p;
	size_t first = l->piped ? l->pipeline : l->inherited_first, last = l->piped ? l->cmd_first : l->inherited_end;

	if (end == ')' && peek(p, 1) == '(' && l->cmd.n_words == 0 && is_arithmetic(p, p->at)) {
		skip_arithmetic(l);
		return;
	}
	p->at++;
	nested(l, end, first, last);
}

/* Parses what separates words. Returns false at the end of the list. */
static bool separator(struct list *l, int c)
{
	struct parser *p = l->p;

	switch (c) {
	case ' ':
	case '\t':
	case '\r':
		word_end(l);
		p->at++;
		return true;
	case '\n':
		pipeline_end(l);
		p->at++;
		heredocs_read(l);
		return true;
	case '|':
		p->at++;
		if (peek(p, 0) == '|') {
			pipeline_end(l);
			p->at++;
			return true;
		}
		p->at += peek(p, 0) == '&';
		command_end(l);
		l->piped = true;
		return true;
	case '&':
		if (peek(p, 1) == '>') {
			p->at++;
			word_end(l);
			greater_than(l);
			return true;
		}
		pipeline_end(l);
		p->at++;
		return true;
	case ';':
		pipeline_end(l);
		p->at++;
		return true;
	case '(':
		word_end(l);
		group(l, ')');
		return true;
	case ')':
		p->at++;
		pipeline_end(l);
		return l->end != ')';
	default: /* < or > */
		if (all_digits(&l->word) && !l->quoted)
			buf_clear(&l->word), l->in_word = false;
		word_end(l);
		if (c == '<')
			less_than(l);
		else
			greater_than(l);
		return true;
	}
}

static bool at_brace(const struct list *l, int c, char brace)
{
	int next = peek(l->p, 1);

	return c == brace && !l->in_word && l->cmd.n_words == 0 && (next < 0 || strchr(" \t\n;)&|", next));
}

static void parse_list(struct parser *p, char end, size_t from_first, size_t from_end)
{
	struct list l = {
		.p = p,
		.end = end,
		.inherited_first = from_first,
		.inherited_end = from_end,
		.pipeline = p->out->n,
		.cmd_first = p->out->n,
		.word = BUF_INIT(SHELL_TEXT_MAX),
	};

	for (int c; p->rc == 0 && (c = peek(p, 0)) >= 0;) {
		if (c == '#' && !l.in_word) {
			skip_comment(p);
			continue;
		}
		if (at_brace(&l, c, '{')) {
			group(&l, '}');
			continue;
		}
		if (end == '}' && at_brace(&l, c, '}')) {
			p->at++;
			break;
		}
		if (!word_step(&l, c) && !separator(&l, c))
			break;
	}
	pipeline_end(&l);
	for (size_t i = 0; i < l.n_docs; i++)
		free(l.docs[i].end);
	buf_done(&l.word);
	command_done(&l.cmd);
}

int shell_parse(struct str text, struct shell_script *ret)
{
	struct shell_script s = { 0 };
	struct parser p = { .in = text, .out = &s };

	if (text.n > SHELL_TEXT_MAX)
		return -E2BIG;
	parse_list(&p, 0, 0, 0);
	if (p.rc < 0) {
		shell_done(&s);
		return p.rc;
	}
	*ret = s;
	return 0;
}
