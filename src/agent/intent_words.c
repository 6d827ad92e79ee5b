/* SPDX-License-Identifier: Apache-2.0 */
/* agent/intent_words: interprets words. Only English is understood, which is what agent programs write. */
#include "agent/intent_words.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\0';
}

int words_split(struct str text, struct words *ret)
{
	ret->n = 0;
	for (size_t i = 0; i < text.n && ret->n < WORDS_MAX;) {
		while (i < text.n && is_blank(text.p[i]))
			i++;
		size_t from = i;

		while (i < text.n && !is_blank(text.p[i]))
			i++;
		size_t to = i;

		while (from < to && strchr("\"'`([{<*", text.p[from]) && text.p[from])
			from++;
		while (to > from && strchr("\"'`)]}>*,.;:?!", text.p[to - 1]) && text.p[to - 1])
			to--;
		if (from == to)
			continue;
		struct str raw = { text.p + from, to - from };

		ret->raw[ret->n] = raw;
		for (size_t k = 0; k < WORD_SIZE; k++)
			ret->lower[ret->n][k] = k < raw.n && k < WORD_SIZE - 1 ? (char)tolower((unsigned char)raw.p[k])
									       : '\0';
		ret->n++;
	}
	return 0;
}

static bool is_one_of(const char *z, const char *const *all)
{
	for (; *all; all++) {
		if (strcmp(*all, z) == 0)
			return true;
	}
	return false;
}

#define ONE_OF(z, ...) is_one_of(z, (const char *const[]) { __VA_ARGS__, NULL })

static bool has(const struct words *w, const char *z)
{
	for (size_t i = 0; i < w->n; i++) {
		if (strcmp(w->lower[i], z) == 0)
			return true;
	}
	return false;
}

/* Skips the words before the verb, as in "could you please". */
static size_t skip_polite(const struct words *w)
{
	size_t i = 0;

	/* "I want to run ...", but not "I run ...". */
	if (w->n > 1 && ONE_OF(w->lower[0], "i", "we") && ONE_OF(w->lower[1], "want", "need", "would", "should"))
		i = 2;
	while (i < w->n &&
	    ONE_OF(w->lower[i], "please", "can", "could", "would", "will", "you", "hey", "hi", "hello", "ok", "okay",
		"now", "then", "first", "let's", "lets", "just", "like", "want", "to", "need", "should", "kindly",
		"and", "go", "ahead", "the", "agent", "also", "help", "me"))
		i++;
	return i;
}

/* A question about how to do something, or a wish not to do it, is not a request. */
static bool is_not_meant(const struct words *w)
{
	for (size_t i = 0; i < w->n; i++) {
		if (ONE_OF(w->lower[i], "don't", "dont", "never", "not", "won't", "shouldn't", "mustn't", "without"))
			return true;
	}
	return w->n > 0 &&
	    (ONE_OF(w->lower[0], "how", "why", "when", "should", "did", "does", "who", "if", "is", "are", "was"));
}

/* --- code --- */

static bool is_name(struct str s)
{
	if (s.n == 0 || (s.p[0] >= '0' && s.p[0] <= '9'))
		return false;
	for (size_t i = 0; i < s.n; i++) {
		if (!isalnum((unsigned char)s.p[i]) && !strchr("_.[]'\"", s.p[i]))
			return false;
	}
	return true;
}

/* Two adjacent words outside quotes, which no programming language allows there. */
static bool is_prose(struct str s)
{
	bool word_before = false;
	char quote = 0;

	for (size_t i = 0; i < s.n; i++) {
		size_t from = i;

		if (quote || s.p[i] == '"' || s.p[i] == '\'' || s.p[i] == '`') {
			quote = !quote ? s.p[i] : quote == s.p[i] ? 0 : quote;
			word_before = false;
			continue;
		}
		while (i < s.n && (isalpha((unsigned char)s.p[i]) || s.p[i] == '_'))
			i++;
		if (i == from) {
			word_before &= is_blank(s.p[i]);
			continue;
		}
		char word[16] = "";

		(void)str_copy(word, sizeof word, (struct str) { s.p + from, i - from });
		bool joins = ONE_OF(word, "if", "else", "for", "in", "and", "or", "not", "is", "lambda", "await", "new",
		    "async", "function", "yield", "typeof", "of");

		if (word_before && !joins)
			return true;
		word_before = !joins;
		i--;
	}
	return false;
}

bool intent_is_assignment(struct str line)
{
	const char *eq = memchr(line.p, '=', line.n);

	if (!eq || eq + 1 == line.p + line.n || eq[1] == '=')
		return false;
	struct str left = { line.p, (size_t)(eq - line.p) };

	if (left.n > 0 && strchr("+-*/%|&", left.p[left.n - 1]))
		left.n--;
	struct str right = str_trim((struct str) { eq + 1, (size_t)(line.p + line.n - eq - 1) });

	return is_name(str_trim(left)) && right.n > 0 && !is_prose(right);
}

bool intent_is_call(struct str line)
{
	const char *open = line.n ? memchr(line.p, '(', line.n) : NULL;

	while (line.n > 0 && strchr("; ", line.p[line.n - 1]))
		line.n--;
	return open && line.n > 0 && line.p[line.n - 1] == ')' &&
	    is_name((struct str) { line.p, (size_t)(open - line.p) });
}

bool intent_asks_for_sum(const struct words *w)
{
	for (size_t i = 0; i < w->n && i < 12; i++) {
		if (ONE_OF(w->lower[i], "calculate", "compute", "evaluate", "solve", "what's", "whats"))
			return true;
		if (strcmp(w->lower[i], "is") == 0 && i > 0 && ONE_OF(w->lower[i - 1], "what", "much"))
			return true;
	}
	return false;
}

/* "run" has other meanings: it counts only at the start of a request, or shortly before something that can be run. */
bool intent_asks_to_run(const struct words *w)
{
	size_t first = skip_polite(w);

	for (size_t i = 0; i < w->n; i++) {
		const char *z = w->lower[i];

		if (ONE_OF(z, "execute", "calculate", "compute", "python", "code", "javascript", "typescript"))
			return true;
		if (strcmp(z, "run") != 0)
			continue;
		if (i == first && i + 1 < w->n)
			return true;
		for (size_t k = i + 1; k < w->n && k <= i + 4; k++) {
			if (ONE_OF(w->lower[k], "script", "program", "snippet", "following", "block", "cell", "command",
				"print"))
				return true;
		}
	}
	return false;
}

/* --- sandboxes --- */

static bool names_sandbox(const char *z)
{
	return ONE_OF(z, "sandbox", "sandboxes", "sandbox's");
}

bool intent_about_sandbox(const struct words *w, enum intent_kind *ret)
{
	size_t first = skip_polite(w), at = 0;
	bool found = false;

	for (; at < w->n && !found; at++)
		found = names_sandbox(w->lower[at]);
	if (!found || is_not_meant(w) || at - first > 12)
		return false;
	for (size_t i = first; i < at; i++) {
		const char *z = w->lower[i];

		if (ONE_OF(z, "kill", "stop", "terminate", "destroy", "delete", "remove", "shutdown", "end", "close"))
			*ret = INTENT_KILL;
		else if (ONE_OF(z, "create", "make", "start", "spin", "launch", "new"))
			*ret = INTENT_CREATE;
		else if (ONE_OF(z, "list", "show", "display", "which", "what", "active", "running", "status"))
			*ret = INTENT_LIST;
		else
			continue;
		return true;
	}
	return false;
}

unsigned intent_seconds(const struct words *w)
{
	for (size_t i = 0; i < w->n; i++) {
		char *end;
		unsigned long n = strtoul(w->lower[i], &end, 10);
		const char *unit = *end == '-' ? end + 1 : *end ? end : i + 1 < w->n ? w->lower[i + 1] : "";

		if (end == w->lower[i] || n == 0 || n > 1000000)
			continue;
		if (strncmp(unit, "sec", 3) == 0 || strcmp(unit, "s") == 0)
			return (unsigned)n;
		if (strncmp(unit, "min", 3) == 0 || strcmp(unit, "m") == 0)
			return (unsigned)n * 60;
		if (strncmp(unit, "hour", 4) == 0 || strcmp(unit, "h") == 0 || strncmp(unit, "hr", 2) == 0)
			return (unsigned)n * 3600;
	}
	return 0;
}

static bool is_id(struct str s, bool behind_the_word)
{
	size_t digits = 0;

	if (s.n < (behind_the_word ? 3 : 6) || s.n >= 64)
		return false;
	for (size_t i = 0; i < s.n; i++) {
		if (!isalnum((unsigned char)s.p[i]) && s.p[i] != '-' && s.p[i] != '_')
			return false;
		digits += isdigit((unsigned char)s.p[i]) != 0;
	}
	return digits > 0 || s.n >= 16;
}

static int add_name(struct intent *to, struct str s)
{
	if (to->n_names == INTENT_NAMES_MAX)
		return 0;
	to->names[to->n_names] = str_dup(s);
	return to->names[to->n_names] ? (to->n_names++, 0) : -ENOMEM;
}

/* Words that look like an id, and the word after "sandbox" unless it is an ordinary one. Nothing is guessed. */
int intent_ids(const struct words *w, struct intent *to)
{
	bool seen = false;

	for (size_t i = 0; i < w->n; i++) {
		bool behind = i > 0 &&
		    (names_sandbox(w->lower[i - 1]) || (seen && ONE_OF(w->lower[i - 1], "id", "named", "called")));

		seen |= names_sandbox(w->lower[i]);
		if (is_id(w->raw[i], behind) ||
		    (behind &&
			!ONE_OF(w->lower[i], "now", "please", "id", "with", "named", "called", "and", "that", "the",
			    "which", "immediately", "for", "you", "all", "in", "at", "is") &&
			!names_sandbox(w->lower[i]))) {
			if (add_name(to, w->raw[i]) < 0)
				return -ENOMEM;
		}
	}
	return 0;
}

/* --- packages --- */

int intent_install(const struct words *w, struct intent *to)
{
	size_t at = skip_polite(w);

	if (!to || is_not_meant(w))
		return 0;
	while (at < w->n && at < 8 && strcmp(w->lower[at], "install") != 0)
		at++;
	if (at >= w->n || at >= 8 || strcmp(w->lower[at], "install") != 0)
		return 0;
	*to = (struct intent) { .kind = INTENT_INSTALL,
		.manager = has(w, "npm") || has(w, "node")                   ? "npm"
		    : has(w, "apt") || has(w, "apt-get") || has(w, "debian") ? "apt"
									     : "pip" };
	for (size_t i = at + 1; i < w->n; i++) {
		const char *z = w->lower[i];

		if (ONE_OF(z, "then", "so", "because", "before", "after", "in", "into", "for", "with", "using", "via",
			"from", "by"))
			break;
		if (ONE_OF(z, "the", "a", "and", "package", "packages", "library", "libraries", "module", "modules",
			"python", "npm", "pip", "node", "please", "apt", "latest", "version", "of", "some", "me", "&"))
			continue;
		for (struct str rest = w->raw[i]; rest.p;) { /* "numpy,pandas" */
			struct str name = str_cut(&rest, ',');

			if (name.n > 0 && add_name(to, name) < 0)
				return -ENOMEM;
		}
	}
	return 1;
}

/* --- git --- */

static const char *git_verb(const struct words *w, size_t *ret_at)
{
	static const char *const verbs[] = { "clone", "status", "diff", "commit", "pull", "push" };
	size_t first = skip_polite(w);

	for (size_t i = 0; i < w->n; i++) {
		for (size_t k = 0; k < ARRAY_LEN(verbs); k++) {
			bool after_git = i > 0 && strcmp(w->lower[i - 1], "git") == 0;

			if (strcmp(w->lower[i], verbs[k]) != 0 || !(after_git || (i == first && k == 0)))
				continue;
			*ret_at = i;
			return verbs[k];
		}
	}
	return NULL;
}

static bool is_url(struct str s)
{
	return str_starts(s, "http://") || str_starts(s, "https://") || str_starts(s, "git://") ||
	    str_starts(s, "ssh://") || str_starts(s, "git@");
}

/* The text between quotes. */
static struct str quoted(struct str text)
{
	for (size_t i = 0; i < text.n; i++) {
		char q = text.p[i];
		const char *end = (q == '"' || (q == '\'' && (i == 0 || is_blank(text.p[i - 1]))))
		    ? memchr(text.p + i + 1, q, text.n - i - 1)
		    : NULL;

		if (end)
			return (struct str) { text.p + i + 1, (size_t)(end - text.p - i - 1) };
	}
	return STR_NULL;
}

int intent_git(struct str prose, const struct words *w, struct intent *to)
{
	size_t at = 0;
	const char *verb = is_not_meant(w) ? NULL : git_verb(w, &at);
	struct intent it = { .kind = INTENT_GIT, .verb = verb };

	if (!verb)
		return 0;
	for (size_t i = at + 1; i < w->n; i++) {
		if (is_url(w->raw[i]) && !it.url)
			it.url = str_dup(w->raw[i]);
		if (i > 0 && ONE_OF(w->lower[i - 1], "in", "into", "to") && !it.dir &&
		    (w->raw[i].p[0] == '/' || w->raw[i].p[0] == '~' || w->raw[i].p[0] == '.' ||
			strcmp(w->lower[i - 1], "to") != 0) &&
		    !is_url(w->raw[i]))
			it.dir = str_dup(w->raw[i]);
	}
	struct str text = quoted(prose);

	if (strcmp(verb, "commit") == 0 && text.p)
		it.text = str_dup(text);
	*to = it;
	return 1;
}
