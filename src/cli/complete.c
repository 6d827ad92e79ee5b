/* SPDX-License-Identifier: Apache-2.0 */
/* atoll __complete: called by the completion scripts of the shells. Options are parsed from the help texts, so that
 * they are defined in one place only. */
#include "cli/complete.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/str.h"
#include "cli/cli.h"
#include "cli/format.h"
#include "cli/settings.h"

#define OUT_MAX (4u * 1024 * 1024)
#define PATIENCE_MS 3000 /* the user is waiting at the prompt */

static void candidate(struct buf *out, struct str text, const char *cur, struct str about)
{
	if (text.n < strlen(cur) || memcmp(text.p, cur, strlen(cur)) != 0)
		return;
	buf_str(out, text);
	if (about.n > 0) {
		buf_ch(out, '\t');
		buf_str(out, about);
	}
	buf_ch(out, '\n');
}

static void candidates(struct buf *out, const char *const *v, const char *cur)
{
	for (; *v; v++)
		candidate(out, str_of(*v), cur, STR_NULL);
}

/* --- options, from lines like "  -q, --quiet NAME  what it does" --- */

struct option {
	struct str name, letter; /* "--quiet", "-q" or empty */
	bool takes_value;
	struct str about;
};

static bool read_option(struct str line, struct option *ret)
{
	*ret = (struct option) { .takes_value = false };
	line = str_trim(line);
	if (line.n > 4 && line.p[0] == '-' && line.p[1] != '-' && line.p[2] == ',') {
		ret->letter = (struct str) { line.p, 2 };
		str_skip(&line, 4);
	}
	if (!str_starts(line, "--"))
		return false;
	ret->name = str_cut(&line, ' ');
	if (ret->name.n < 3 || ret->name.p[2] < 'a' || ret->name.p[2] > 'z') /* "--SETTING VALUE" is a pattern */
		return false;
	if (!line.p)
		return true;
	ret->takes_value = line.n > 0 && line.p[0] >= 'A' && line.p[0] <= 'Z';
	if (ret->takes_value)
		(void)str_cut(&line, ' ');
	ret->about = str_trim(line);
	return true;
}

/* Options in SETTINGS_HELP, which is prose and cannot be parsed. */
static const char *const server_options[] = { "--api-url", "--api-key", "--sandbox-url", "--state", "--mock", NULL };

static void put_options(struct buf *out, const struct verb *v, const char *cur)
{
	struct str help = str_of(v->help);
	struct option o;

	while (help.p) {
		if (read_option(str_cut(&help, '\n'), &o))
			candidate(out, o.name, cur, o.about);
	}
	if (strstr(v->help, server_options[0]))
		candidates(out, server_options, cur);
	candidate(out, STR_LIT("--help"), cur, STR_NULL);
}

static bool takes_value(const struct verb *v, const char *word)
{
	struct str help = str_of(v->help);
	struct option o;

	for (size_t i = 0; server_options[i]; i++) {
		if (strcmp(server_options[i], word) == 0)
			return strcmp(word, "--mock") != 0;
	}
	while (help.p) {
		if (read_option(str_cut(&help, '\n'), &o) &&
		    (str_is(o.name, word) || (o.letter.n && str_is(o.letter, word))))
			return o.takes_value;
	}
	return false;
}

/* --- values --- */

static const char *const levels[] = { "debug", "info", "warn", "error", NULL };

static enum complete_more put_value(struct buf *out, const char *option, const char *cur)
{
	static const char *const languages[] = { "python", "javascript", "bash", NULL };
	static const char *const columns[] = { "cpu", "memory", "disk", "pids", "idle", NULL };
	static const char *const files[] = { "--state", "--run", "--config", "--cache", NULL };

	if (strcmp(option, "--team") == 0)
		return MORE_TEAMS;
	if (strcmp(option, "--level") == 0)
		candidates(out, levels, cur);
	if (strcmp(option, "--lang") == 0 || strcmp(option, "-l") == 0)
		candidates(out, languages, cur);
	if (strcmp(option, "--sort") == 0 || strcmp(option, "-s") == 0)
		candidates(out, columns, cur);
	for (size_t i = 0; files[i]; i++) {
		if (strcmp(option, files[i]) == 0)
			return MORE_FILES;
	}
	return MORE_NONE;
}

static enum complete_more put_operand(struct buf *out, const struct verb *v, size_t before, const char *cur)
{
	switch (v->operand) {
	case OPERAND_NONE:
		return MORE_NONE;
	case OPERAND_ID:
		return before == 0 ? MORE_IDS : MORE_NONE;
	case OPERAND_IDS:
		return MORE_IDS;
	case OPERAND_FILE:
		return MORE_FILES;
	case OPERAND_COPY:
		return before < 2 ? MORE_COPY : MORE_NONE;
	case OPERAND_KEY:
		return before == 0 ? MORE_KEYS : MORE_NONE;
	case OPERAND_TEAM:
		return before == 0 ? MORE_TEAMS : MORE_NONE;
	case OPERAND_VOLUME:
		return before == 0 ? MORE_VOLUMES : MORE_NONE;
	case OPERAND_LEVEL:
		if (before == 0)
			candidates(out, levels, cur);
		return MORE_NONE;
	}
	return MORE_NONE;
}

/* Finds the verb or subcommand that the words name; *at is the index of its first argument. If the name is not
 * complete yet, returns NULL and sets *list to the verbs that may follow (NULL if none). */
static const struct verb *named_verb(char *const *words, size_t n, size_t *at, const struct verb *const **list)
{
	*list = verbs;
	for (*at = 0; *at + 1 < n;) {
		const struct verb *v = verb_find(*list, words[(*at)++]);

		if (!v || !v->subs) {
			*list = NULL;
			return v;
		}
		*list = v->subs;
	}
	return NULL;
}

static enum complete_more complete_arguments(const struct verb *v, char *const *words, size_t n, struct buf *out)
{
	const char *cur = words[n - 1];
	size_t operands = 0;
	bool over = false;

	for (size_t i = 0; i + 1 < n; i++) {
		if (over || words[i][0] != '-') {
			operands++;
		} else if (strcmp(words[i], "--") == 0) {
			over = true;
		} else if (takes_value(v, words[i]) && !strchr(words[i], '=')) {
			if (i + 2 == n)
				return put_value(out, words[i], cur);
			i++;
		}
	}
	if (!over && cur[0] == '-') {
		put_options(out, v, cur);
		return MORE_NONE;
	}
	return put_operand(out, v, operands, cur);
}

enum complete_more complete_words(char *const *words, size_t n, struct buf *out)
{
	const struct verb *const *list;
	size_t at;

	if (n == 0)
		return MORE_NONE;
	const struct verb *v = named_verb(words, n, &at, &list);
	if (v)
		return complete_arguments(v, words + at, n - at, out);
	for (; list && *list; list++) {
		const char *blank = strrchr((*list)->name, ' ');

		candidate(out, str_of(blank ? blank + 1 : (*list)->name), words[n - 1], str_of((*list)->summary));
	}
	return MORE_NONE;
}

/* --- candidates from the server --- */

static bool too_late(void *user)
{
	return clock_mono_ms() > *(uint64_t *)user;
}

static void put_ids(struct atoll *a, bool colon, const char *cur, struct buf *out)
{
	struct atoll_list *l;
	struct atoll_error e;

	if (atoll_list_sandboxes(a, &l, &e) < 0)
		return;
	for (size_t i = 0; i < l->n; i++) {
		autobuf struct buf about = BUF_INIT(4096), id = BUF_INIT(256);
		const struct atoll_info *x = &l->v[i];

		put_clean(&about, x->alias ? x->alias : x->template_id);
		buf_fmt(&about, ", %s", x->state);
		buf_fmt(&id, "%s%s", x->id, colon ? ":" : "");
		candidate(out, buf_view(&id), cur, buf_view(&about));
	}
	atoll_list_free(l);
}

static void put_keys(struct atoll *a, const char *team, const char *cur, struct buf *out)
{
	struct atoll_keys *k;
	struct atoll_error e;

	if (atoll_keys_list(a, team, &k, &e) < 0)
		return;
	for (size_t i = 0; i < k->n; i++) {
		autobuf struct buf about = BUF_INIT(4096);

		put_clean(&about, k->v[i].name);
		candidate(out, str_of(k->v[i].id), cur, buf_view(&about));
	}
	atoll_keys_free(k);
}

static void put_teams(struct atoll *a, const char *cur, struct buf *out)
{
	struct atoll_teams *t;
	struct atoll_error e;

	if (atoll_teams_list(a, &t, &e) < 0)
		return;
	for (size_t i = 0; i < t->n; i++)
		candidate(out, str_of(t->v[i].name), cur, STR_NULL);
	atoll_teams_free(t);
}

static void put_volumes(struct atoll *a, const char *cur, struct buf *out)
{
	struct atoll_volumes *l;
	struct atoll_error e;

	if (atoll_volumes_list(a, &l, &e) < 0)
		return;
	for (size_t i = 0; i < l->n; i++)
		candidate(out, str_of(l->v[i].name), cur, STR_NULL);
	atoll_volumes_free(l);
}

/* Returns the value of an option in words, given as "--x V" or "--x=V". */
static const char *value_of(char *const *words, size_t n, const char *option)
{
	size_t len = strlen(option);

	for (size_t i = 0; i + 1 < n; i++) {
		if (strcmp(words[i], option) == 0)
			return i + 2 < n ? words[i + 1] : NULL;
		if (strncmp(words[i], option, len) == 0 && words[i][len] == '=')
			return words[i] + len + 1;
	}
	return NULL;
}

/* Prints no errors: they would disrupt the command line that is being typed. */
static void ask_server(enum complete_more more, char *const *words, size_t n, struct buf *out)
{
	const struct settings_opts conn = {
		.api_url = value_of(words, n, "--api-url"),
		.api_key = value_of(words, n, "--api-key"),
		.state_dir = value_of(words, n, "--state"),
	};
	autosettings struct settings s = SETTINGS_NONE;
	uint64_t until = clock_mono_ms() + PATIENCE_MS;
	struct err e = ERR_INIT;
	struct atoll_error ae;
	struct atoll *a;

	if (settings_load(&conn, &s, &e) < 0)
		return;
	const struct atoll_config cfg = { .api_url = s.api_url,
		.sandbox_url = s.sandbox_url,
		.api_key = s.api_key,
		.domain = s.domain };
	if (atoll_new(&cfg, &a, &ae) < 0)
		return;
	atoll_set_stop(a, too_late, &until);
	if (more == MORE_IDS || more == MORE_COPY)
		put_ids(a, more == MORE_COPY, words[n - 1], out);
	else if (more == MORE_KEYS)
		put_keys(a, value_of(words, n, "--team"), words[n - 1], out);
	else if (more == MORE_TEAMS)
		put_teams(a, words[n - 1], out);
	else if (more == MORE_VOLUMES)
		put_volumes(a, words[n - 1], out);
	atoll_free(a);
}

static int run(const struct verb *v, int argc, char **argv)
{
	autobuf struct buf out = BUF_INIT(OUT_MAX);

	(void)v;
	if (argc == 0)
		return EXIT_USAGE;
	enum complete_more more = complete_words(argv, (size_t)argc, &out);
	if (more != MORE_NONE && more != MORE_FILES)
		ask_server(more, argv, (size_t)argc, &out);
	if (more == MORE_FILES || more == MORE_COPY)
		buf_z(&out, ":files\n");
	(void)fwrite(out.p ? out.p : "", 1, out.n, stdout);
	return 0;
}

const struct verb verb_complete = {
	.name = "__complete",
	.summary = "Print completions for a command line",
	.synopsis = "WORD...",
	.help = "",
	.run = run,
};
