/* SPDX-License-Identifier: Apache-2.0 */
/* agent/intent: finds what a message asks for: fenced code first, then the sentences around it. */
#include "agent/intent.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#include "agent/arith.h"
#include "agent/intent_words.h"
#include "base/buf.h"
#include "base/fd.h"

const char *intent_action(enum intent_kind k)
{
	switch (k) {
	case INTENT_CODE:
	case INTENT_SUM:
		return "EXECUTE_CODE";
	case INTENT_INSTALL:
		return "INSTALL_PACKAGES";
	case INTENT_GIT:
		return "GIT";
	default:
		return "MANAGE_SANDBOX";
	}
}

static void intent_done(struct intent *i)
{
	free(i->language);
	free(i->code);
	free(i->value);
	free(i->url);
	free(i->dir);
	free(i->text);
	for (size_t k = 0; k < i->n_names; k++)
		free(i->names[k]);
	*i = (struct intent) { 0 };
}

void intents_done(struct intents *l)
{
	for (size_t i = 0; i < l->n; i++)
		intent_done(&l->v[i]);
	*l = (struct intents) { .n = 0 };
}

static struct intent *intents_add(struct intents *l, enum intent_kind kind)
{
	if (l->n == INTENTS_MAX) {
		l->more = true;
		return NULL;
	}
	l->v[l->n] = (struct intent) { .kind = kind };
	return &l->v[l->n++];
}

/* --- fences --- */

/* Length of the fence (three or more ` or ~) that begins the line; 0: not a fence. */
static size_t fence_of(struct str line, char *ret_char, struct str *ret_info)
{
	size_t blanks = 0, n = 0;

	while (blanks < line.n && line.p[blanks] == ' ')
		blanks++;
	str_skip(&line, blanks);
	if (line.n < 3 || (*line.p != '`' && *line.p != '~'))
		return 0;
	while (n < line.n && line.p[n] == *line.p)
		n++;
	*ret_char = *line.p;
	*ret_info = str_trim((struct str) { line.p + n, line.n - n });
	if (ret_info->n > 0 && ret_info->p[ret_info->n - 1] == '\r')
		ret_info->n--;
	return n >= 3 ? n : 0;
}

static struct str first_word(struct str s)
{
	size_t n = 0;

	while (n < s.n && s.p[n] != ' ' && s.p[n] != '\t' && s.p[n] != '{' && s.p[n] != ',')
		n++;
	return (struct str) { s.p, n };
}

/* Splits the text: fenced code becomes intents, the rest goes to `prose`. */
static int take_fences(struct str text, struct intents *code, struct buf *prose)
{
	for (struct str rest = text; rest.p;) {
		struct str line = str_cut(&rest, '\n'), info, end_info;
		char mark, end_mark;
		size_t n = fence_of(line, &mark, &info);

		if (n == 0 || (mark == '`' && memchr(info.p, '`', info.n))) {
			buf_str(prose, line);
			buf_ch(prose, '\n');
			continue;
		}
		const char *from = rest.p;
		size_t bytes = 0;
		bool ended = false;

		while (rest.p && !ended) {
			struct str inner = str_cut(&rest, '\n');
			size_t k = fence_of(inner, &end_mark, &end_info);

			ended = k >= n && end_mark == mark && end_info.n == 0;
			bytes += ended ? 0 : inner.n + (rest.p != NULL);
		}
		struct intent *i = intents_add(code, INTENT_CODE);

		if (!i)
			continue;
		i->language = first_word(info).n ? str_dup(first_word(info)) : NULL;
		i->code = str_dup(from ? (struct str) { from, bytes } : STR_LIT(""));
		if (!i->code)
			return -ENOMEM;
	}
	return 0;
}

/* --- code without a fence --- */

static bool line_is_code(struct str line)
{
	static const char *const starts[] = { "import ", "from ", "def ", "class ", "print(", "console.", "const ",
		"let ", "var ", "function ", "for ", "while ", "if ", "return ", "#!", "!pip ", "!npm " };
	size_t n = line.n;

	while (n > 0 && (line.p[n - 1] == ' ' || line.p[n - 1] == '\r'))
		n--;
	line.n = n;
	for (size_t i = 0; i < ARRAY_LEN(starts); i++) {
		if (!str_starts(line, starts[i]))
			continue;
		/* These are English words, too. They count as code only with a colon or parenthesis. */
		if (str_is((struct str) { starts[i], 3 }, "for") || str_is((struct str) { starts[i], 3 }, "if ") ||
		    str_is((struct str) { starts[i], 3 }, "whi") || str_is((struct str) { starts[i], 3 }, "def") ||
		    str_is((struct str) { starts[i], 3 }, "cla"))
			return n > 0 && (line.p[n - 1] == ':' || line.p[n - 1] == '{') &&
			    (strchr("dc", starts[i][0]) || memchr(line.p, '(', n) || memmem(line.p, n, " in ", 4) ||
				memmem(line.p, n, "==", 2) || memchr(line.p, '<', n) || memchr(line.p, '>', n));
		if (str_starts(line, "from "))
			return memmem(line.p, n, " import ", 8) != NULL;
		if (str_starts(line, "import "))
			return n < 80 && !memchr(line.p + 7, ' ', n - 7) ? true
									 : memmem(line.p, n, " as ", 4) != NULL ||
				memchr(line.p, ',', n) != NULL || memchr(line.p, ';', n) != NULL;
		if (str_starts(line, "let ") || str_starts(line, "const ") || str_starts(line, "var "))
			return memchr(line.p, '=', n) != NULL;
		if (str_starts(line, "return "))
			return false;
		return true;
	}
	return intent_is_assignment(line) || intent_is_call(line);
}

/* From the first line of code to the last one. */
static struct str bare_code(struct str prose)
{
	struct str found = STR_NULL;
	bool on = false;

	for (struct str rest = prose; rest.p;) {
		struct str line = str_cut(&rest, '\n');
		bool indented = line.n > 0 && (*line.p == ' ' || *line.p == '\t');

		if (!on && line_is_code(line)) {
			found = line;
			on = true;
		} else if (on &&
		    (line.n == 0 || indented || line_is_code(line) || str_starts(line, "else") ||
			str_starts(line, "elif ") || str_starts(line, "except") || str_starts(line, "finally") ||
			*line.p == '}' || *line.p == '#' || str_starts(line, "//"))) {
			found.n = (size_t)(line.p + line.n - found.p);
		} else if (on) {
			break;
		}
	}
	while (found.n > 0 && strchr(" \t\r\n", found.p[found.n - 1]))
		found.n--;
	return found;
}

/* `code` in backquotes, or text after "run" that looks like code. */
static struct str inline_code(struct str prose)
{
	const char *from = memchr(prose.p, '`', prose.n);
	const char *end = from ? memchr(from + 1, '`', prose.n - (size_t)(from + 1 - prose.p)) : NULL;

	if (end && end > from + 1)
		return (struct str) { from + 1, (size_t)(end - from - 1) };
	for (struct str rest = prose; rest.n > 0; str_skip(&rest, 1)) {
		static const char *const verbs[] = { "run ", "execute ", "evaluate ", "calculate ",
			"python: ", "code: " };

		for (size_t i = 0; i < ARRAY_LEN(verbs); i++) {
			if (rest.n <= strlen(verbs[i]) || strncasecmp(rest.p, verbs[i], strlen(verbs[i])) != 0)
				continue;
			struct str tail = { rest.p + strlen(verbs[i]), rest.n - strlen(verbs[i]) };

			tail = str_trim(str_cut(&tail, '\n'));
			while (tail.n > 0 &&
			    (tail.p[tail.n - 1] == '.' || tail.p[tail.n - 1] == '?' || tail.p[tail.n - 1] == '!'))
				tail.n--;
			if (line_is_code(tail))
				return tail;
		}
	}
	return STR_NULL;
}

/* --- sentences --- */

static int take_sum(struct str prose, const struct words *w, struct intents *l)
{
	char value[ARITH_RESULT_SIZE];
	struct str expr, all = str_trim(prose);
	int rc;

	if (!intent_asks_for_sum(w) && (all.n == 0 || all.n > 200 || !strchr("0123456789(-", *all.p)))
		return 0;
	rc = arith_find(prose, &expr, value);
	if (rc == -ENOENT)
		return 0;
	/* Unless the message is a question, the expression must be all of it. */
	while (all.n > 0 && strchr("=?.! \n", all.p[all.n - 1]))
		all.n--;
	if (rc == 0 && !intent_asks_for_sum(w) && expr.n < all.n)
		return 0;
	struct intent *i = intents_add(l, INTENT_SUM);

	if (!i)
		return 0;
	i->why = rc == -EDOM ? "division by zero or undefined result" : rc < 0 ? "the result is too large" : NULL;
	i->code = rc == 0 ? str_dup(str_trim(expr)) : NULL;
	i->value = rc == 0 ? strdup(value) : NULL;
	return rc == 0 && (!i->code || !i->value) ? -ENOMEM : 0;
}

static int take_sandbox(const struct words *w, struct intents *l)
{
	enum intent_kind kind;

	if (!intent_about_sandbox(w, &kind))
		return 0;
	struct intent *i = intents_add(l, kind);

	if (!i)
		return 0;
	if (kind == INTENT_CREATE)
		i->timeout_s = intent_seconds(w);
	return kind == INTENT_KILL ? intent_ids(w, i) : 0;
}

static int take_bare(struct str prose, const struct words *w, struct intents *l)
{
	struct str code = bare_code(prose);
	bool asked = intent_asks_to_run(w);

	if (!code.p && asked)
		code = inline_code(prose);
	if (!code.p && !asked)
		return 0;
	struct intent *i = intents_add(l, INTENT_CODE);

	if (!i)
		return 0;
	i->code = code.p ? str_dup(code) : NULL;
	return code.p && !i->code ? -ENOMEM : 0;
}

int intents_parse(struct str text, struct intents *ret)
{
	autobuf struct buf prose = BUF_INIT(INTENT_TEXT_MAX + 16);
	struct intents *fences = text.n > INTENT_TEXT_MAX ? NULL : calloc(1, sizeof *fences);
	struct words *w = calloc(1, sizeof *w);
	int rc = text.n > INTENT_TEXT_MAX ? -E2BIG : !fences || !w ? -ENOMEM : 0;

	*ret = (struct intents) { .n = 0 };
	if (rc == 0)
		rc = take_fences(text, fences, &prose);
	if (rc == 0 && prose.bad)
		rc = -ENOMEM;
	struct str p = prose.p ? buf_view(&prose) : STR_LIT("");

	if (rc == 0)
		rc = words_split(p, w);
	if (rc == 0)
		rc = take_sandbox(w, ret);
	if (rc == 0 && ret->n == 0)
		rc = intent_install(w, ret->n < INTENTS_MAX ? &ret->v[ret->n] : NULL);
	if (rc == 1)
		ret->n++, rc = 0;
	if (rc == 0 && ret->n == 0)
		rc = intent_git(p, w, &ret->v[ret->n]);
	if (rc == 1)
		ret->n++, rc = 0;
	if (rc == 0 && fences->n == 0 && ret->n == 0)
		rc = take_sum(p, w, ret);
	if (rc == 0 && fences->n == 0 && ret->n == 0)
		rc = take_bare(p, w, ret);
	for (size_t i = 0; rc == 0 && i < fences->n; i++) {
		struct intent *to = intents_add(ret, INTENT_CODE);

		if (to) {
			*to = fences->v[i];
			fences->v[i] = (struct intent) { 0 };
		}
	}
	if (fences) {
		ret->more |= fences->more;
		intents_done(fences);
	}
	free(fences);
	free(w);
	if (rc < 0)
		intents_done(ret);
	return rc;
}
