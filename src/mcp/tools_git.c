/* SPDX-License-Identifier: Apache-2.0 */
/* mcp/tools_git: git in the sandbox. libatoll passes credentials, including those in a URL, in the environment of the
 * one command: they appear in no argument, no .git/config and no log. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/str.h"
#include "client/git.h"
#include "http/json.h"
#include "http/url.h"
#include "mcp/tools.h"

#define GIT_MS 300000

static struct atoll_git git_of(const struct tool_run *r)
{
	return (struct atoll_git) { .dir = run_str(r, "path"),
		.pull = run_str(r, "how"),
		.keep_conflict = run_bool(r, "keep_conflict"),
		.username = run_str(r, "username"),
		.password = run_str(r, "password"),
		.timeout_ms = run_timeout_or(r, GIT_MS) };
}

static char *decoded(struct str raw)
{
	autobuf struct buf out = BUF_INIT(4096);

	return url_decode(raw, false, &out) < 0 || out.bad ? NULL : str_dup(buf_view(&out));
}

int tool_split_url(const char *url, char **ret_url, char **ret_user, char **ret_password)
{
	struct str rest = str_of(url);
	const char *at = strstr(url, "://");

	*ret_url = *ret_user = *ret_password = NULL;
	if (at && !str_starts(rest, "ssh://")) { /* in ssh:// the user is needed and not secret */
		str_skip(&rest, (size_t)(at + 3 - url));
		struct str host = rest, authority = str_cut(&host, '/');
		const char *end = memrchr(authority.p, '@', authority.n);

		if (end) {
			struct str password = { authority.p, (size_t)(end - authority.p) },
				   user = str_cut(&password, ':');

			/* A lone token takes the place of the user name. */
			*ret_user = password.p ? decoded(user) : strdup("x-access-token");
			*ret_password = decoded(password.p ? password : user);
			*ret_url = str_fmt("%.*s%s", (int)(at + 3 - url), url, end + 1);
			return *ret_user && *ret_password && *ret_url ? 0 : -EINVAL;
		}
	}
	*ret_url = strdup(url);
	return *ret_url ? 0 : -ENOMEM;
}

/* git must not mistake a name for an option. */
static bool no_option(struct tool_run *r, const char *name)
{
	const char *v = run_str(r, name);

	if (!v || v[0] != '-')
		return true;
	run_refuse(r, "argument '%s' must not begin with '-'", name);
	return false;
}

static void wipe_free(char *z)
{
	if (z)
		explicit_bzero(z, strlen(z));
	free(z);
}

static void git_clone(struct tool_run *r)
{
	struct atoll_git g = git_of(r);
	char *url = NULL, *user = NULL, *password = NULL;
	struct atoll_error e;

	if (!no_option(r, "url") || !no_option(r, "branch") || !no_option(r, "path"))
		return;
	if (tool_split_url(run_str(r, "url"), &url, &user, &password) < 0) {
		run_refuse(r, "argument 'url' is not a valid git URL");
	} else if (run_sandbox(r)) {
		if (user) {
			g.username = user;
			g.password = password;
		}
		if (atoll_git_clone(r->sandbox->sb, &g, url, run_str(r, "branch"), (unsigned)run_int(r, "depth", 0),
			&e) < 0) {
			(void)run_failed(r, &e);
		} else {
			run_say(r, "Cloned %s", url);
			run_set(r, "url", json_string(url));
		}
	}
	free(url);
	wipe_free(user);
	wipe_free(password);
}

static json_t *status_json(const struct atoll_git_status *s, bool *ret_conflict)
{
	json_t *files = json_array();

	*ret_conflict = false;
	for (size_t i = 0; i < s->n; i++) {
		const struct atoll_git_file *f = &s->v[i];
		char code[3] = { f->index, f->tree, '\0' };
		bool conflict = f->index == 'U' || f->tree == 'U' || strcmp(code, "AA") == 0 || strcmp(code, "DD") == 0;

		*ret_conflict = *ret_conflict || conflict;
		json_array_append_new(files,
		    json_pack("{s:o,s:s,s:b}", "path", run_string(f->path, strlen(f->path)), "status", code, "conflict",
			conflict));
	}
	return files;
}

static int show_status(struct tool_run *r, const struct atoll_git *g, struct atoll_error *e)
{
	struct atoll_git_status *s;
	bool conflict;

	if (atoll_git_status(r->sandbox->sb, g, &s, e) < 0)
		return -e->no;
	json_t *files = status_json(s, &conflict), *one;
	size_t i;

	run_say(r, "On branch %s, %d ahead, %d behind", s->branch ? s->branch : "(none)", s->ahead, s->behind);
	json_array_foreach(files, i, one) run_say(r, "%s %s", json_string_value(json_object_get(one, "status")),
	    json_string_value(json_object_get(one, "path")));
	run_set(r, "branch", s->branch ? json_string(s->branch) : json_null());
	run_set(r, "ahead", json_integer(s->ahead));
	run_set(r, "behind", json_integer(s->behind));
	run_set(r, "files", files);
	run_set(r, "conflict", json_boolean(conflict));
	atoll_git_status_free(s);
	return 0;
}

static void git_status(struct tool_run *r)
{
	struct atoll_git g = git_of(r);
	struct atoll_error e;

	if (run_sandbox(r) && show_status(r, &g, &e) < 0)
		(void)run_failed(r, &e);
}

static void git_diff(struct tool_run *r)
{
	struct atoll_git g = git_of(r);
	struct atoll_error e;
	char *text;

	if (!run_sandbox(r))
		return;
	if (atoll_git_diff(r->sandbox->sb, &g, run_bool(r, "staged"), &text, &e) < 0) {
		(void)run_failed(r, &e);
		return;
	}
	if (*text)
		run_text(r, text, strlen(text));
	else
		run_say(r, "(no changes)");
	run_set(r, "diff", run_string(text, strlen(text)));
	free(text);
}

static void git_commit(struct tool_run *r)
{
	struct atoll_git g = git_of(r);
	const json_t *all = json_object_get(r->args, "all");
	struct atoll_git_commit c = { .message = run_str(r, "message"),
		.author_name = run_str(r, "author_name"),
		.author_email = run_str(r, "author_email"),
		.all = !all || json_is_true(all),
		.allow_empty = run_bool(r, "allow_empty") };
	struct atoll_error e;

	if (!run_sandbox(r))
		return;
	if (atoll_git_commit(r->sandbox->sb, &g, &c, &e) == 0) {
		run_say(r, "Committed");
		return;
	}
	(void)run_failed(r, &e);
	if (strstr(e.text, "ident"))
		run_say(r, "git has no identity for the commit. Set author_name and author_email.");
}

/* The author of a merge commit. */
static size_t author_envs(const struct tool_run *r, struct atoll_pair envs[4])
{
	static const char *const names[][3] = { { "author_name", "GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME" },
		{ "author_email", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL" } };
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		const char *v = run_some(r, names[i][0]);

		for (size_t k = 1; v && k < 3; k++)
			envs[n++] = (struct atoll_pair) { names[i][k], v };
	}
	return n;
}

static void pull_failed(struct tool_run *r, const struct atoll_git *g, const char *conflicts,
    const struct atoll_error *why)
{
	json_t *files = json_array();

	(void)run_failed(r, why);
	for (const char *p = conflicts; p && *p; p += strlen(p) + 1) {
		run_say(r, "conflict: %s", p);
		json_array_append_new(files, run_string(p, strlen(p)));
	}
	run_set(r, "conflict", json_boolean(conflicts != NULL));
	run_set(r, "conflicts", files);
	if (conflicts && g->keep_conflict)
		run_say(r,
		    "Resolve the conflicts in these files and commit, or undo the pull with: git merge --abort (or git "
		    "rebase --abort)");
	else if (conflicts)
		run_say(r,
		    "Change the local version of these files, or pull with keep_conflict to get conflict markers in "
		    "them.");
	if (strstr(why->text, "ident"))
		run_say(r, "git has no identity for the merge commit. Set author_name and author_email.");
}

static void git_pull_tool(struct tool_run *r)
{
	struct atoll_git g = git_of(r);
	struct atoll_pair envs[4];
	autofree char *conflicts = NULL;
	struct atoll_error e;

	g.envs = envs;
	g.n_envs = author_envs(r, envs);
	if (!no_option(r, "remote") || !no_option(r, "branch") || !run_sandbox(r))
		return;
	if (git_pull(r->sandbox->sb, &g, run_str(r, "remote"), run_str(r, "branch"), &conflicts, &e) < 0) {
		pull_failed(r, &g, conflicts, &e);
		return;
	}
	run_say(r, "Pulled");
	run_set(r, "conflict", json_false());
	run_set(r, "conflicts", json_array());
}

static void git_push(struct tool_run *r)
{
	struct atoll_git g = git_of(r);
	struct atoll_error e;

	if (!no_option(r, "remote") || !no_option(r, "branch") || !run_sandbox(r))
		return;
	if (atoll_git_push(r->sandbox->sb, &g, run_str(r, "remote"), run_str(r, "branch"), run_bool(r, "set_upstream"),
		&e) < 0)
		(void)run_failed(r, &e);
	else
		run_say(r, "Pushed");
}

static void git_branch(struct tool_run *r)
{
	struct atoll_git g = git_of(r);
	const char *name = run_str(r, "name");
	struct atoll_error e;
	char *list;

	if (!no_option(r, "name") || !run_sandbox(r))
		return;
	if (name && atoll_git_branch(r->sandbox->sb, &g, name, run_bool(r, "create"), &e) < 0) {
		(void)run_failed(r, &e);
		return;
	}
	if (atoll_git_branches(r->sandbox->sb, &g, &list, &e) < 0) {
		(void)run_failed(r, &e);
		return;
	}
	if (*list)
		run_text(r, list, strlen(list));
	else
		run_say(r, "(no branches yet)");
	free(list);
}

const struct tool_handler tools_git[] = {
	{ "git_clone", git_clone, .seeks = SEEKS_PATH },
	{ "git_status", git_status, .seeks = SEEKS_PATH },
	{ "git_diff", git_diff, .seeks = SEEKS_PATH },
	{ "git_commit", git_commit, .seeks = SEEKS_PATH },
	{ "git_pull", git_pull_tool, .seeks = SEEKS_PATH },
	{ "git_push", git_push, .seeks = SEEKS_PATH },
	{ "git_branch", git_branch, .seeks = SEEKS_PATH },
	{ NULL },
};
