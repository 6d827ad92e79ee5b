/* SPDX-License-Identifier: Apache-2.0 */
/* client/git_pull: pulls, including branches that have diverged, which is common if several agents use one
 * repository. A pull that conflicts is undone, so that the next call finds the repository as it was. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "client/git.h"

#define NAMED_MAX 300 /* limit for file names in an error message */

static const struct {
	const char *how, *option;
} options[] = { { "merge", "--no-rebase" }, { "rebase", "--rebase" }, { "ff-only", "--ff-only" } };

static int option_of(const char *how, const char **ret, struct atoll_error *e)
{
	*ret = NULL;
	for (size_t i = 0; how && i < ARRAY_LEN(options); i++) {
		if (strcmp(options[i].how, how) == 0)
			*ret = options[i].option;
	}
	return !how || *ret ? 0
			    : client_fail(e, EINVAL, 0, "'%.40s' is not a pull mode: merge, rebase or ff-only", how);
}

/* True if this pull began a merge or rebase and stopped. One left by an earlier pull is not undone. */
static bool is_stuck(const struct atoll_output *o)
{
	static const char *const signs[] = { "CONFLICT (", "Automatic merge failed", "could not apply",
		"Committer identity unknown", "empty ident name", "unable to auto-detect email" };

	for (size_t i = 0; i < ARRAY_LEN(signs); i++) {
		if (strstr(o->out, signs[i]) || strstr(o->err, signs[i]))
			return true;
	}
	return false;
}

static int simple(struct atoll_sandbox *sb, const struct atoll_git *g, const char *verb, const char *const *more,
    char **ret, struct atoll_error *e)
{
	struct git_words w = { .v = { "git", "-C", g->dir, verb }, .n = 4 };
	struct atoll_git plain = { .dir = g->dir,
		.as_user = g->as_user,
		.envs = g->envs,
		.n_envs = g->n_envs,
		.timeout_ms = g->timeout_ms };

	for (; *more; more++)
		git_word(&w, *more);
	return git_do(sb, &plain, NULL, &w, verb, ret, e);
}

static void undo(struct atoll_sandbox *sb, const struct atoll_git *g)
{
	static const char *const abort_it[] = { "--abort", NULL };
	struct atoll_error e;

	if (simple(sb, g, "merge", abort_it, NULL, &e) < 0)
		(void)simple(sb, g, "rebase", abort_it, NULL, &e);
}

/* Returns the files in conflict, in the format of git_pull(). */
static char *conflicts_of(struct atoll_sandbox *sb, const struct atoll_git *g)
{
	struct git_words w = { .v = { "git", "-C", g->dir, "diff", "--name-only", "--diff-filter=U", "-z" }, .n = 7 };
	struct atoll_output *o = NULL;
	struct atoll_error e;
	char *list = NULL;

	if (git_run(sb, g, NULL, &w, &o, &e) == 0 && o->exit.code == 0 && o->n_out > 0 &&
	    o->out[o->n_out - 1] == '\0') {
		list = calloc(1, o->n_out + 1);
		if (list)
			memcpy(list, o->out, o->n_out);
	}
	atoll_output_free(o);
	return list;
}

static int stuck(struct atoll_sandbox *sb, const struct atoll_git *g, const struct atoll_output *o,
    char **ret_conflicts, struct atoll_error *e)
{
	char *list = conflicts_of(sb, g);
	autobuf struct buf names = BUF_INIT(4096);
	int rc = git_judge("pull", o, g, e);

	for (const char *p = list; p && *p && names.n < NAMED_MAX; p += strlen(p) + 1)
		buf_fmt(&names, "%s%.200s", names.n ? ", " : "", p);
	if (!g->keep_conflict)
		undo(sb, g);
	if (list)
		rc = client_fail(e, EIO, 0, "git pull: conflict in %s; %s", names.bad ? "many files" : buf_cstr(&names),
		    g->keep_conflict ? "the files contain conflict markers" : "the pull was undone");
	if (ret_conflicts)
		*ret_conflicts = take_ptr(&list);
	free(list);
	return rc;
}

static int pull_once(struct atoll_sandbox *sb, const struct atoll_git *g, const char *url, const char *option,
    const char *remote, const char *branch, struct atoll_output **ret, struct atoll_error *e)
{
	struct git_words w = { .v = { "git", "-C", g->dir, "pull" }, .n = 4 };

	if (option)
		git_word(&w, option);
	if (remote)
		git_word(&w, remote);
	if (branch)
		git_word(&w, branch);
	return git_run(sb, g, url, &w, ret, e);
}

int git_pull(struct atoll_sandbox *sb, const struct atoll_git *given, const char *remote, const char *branch,
    char **ret_conflicts, struct atoll_error *e)
{
	struct atoll_output *o = NULL;
	const char *option = NULL;
	struct git_words w;
	struct atoll_git g;

	if (ret_conflicts)
		*ret_conflicts = NULL;
	if (git_begin(given, &g, &w, e) < 0 || git_check_name("remote", remote, e) < 0 ||
	    git_check_name("branch", branch, e) < 0 || option_of(g.pull, &option, e) < 0)
		return -e->no;
	remote = branch && !remote ? "origin" : remote;
	autofree char *url = g.username ? git_remote_url(sb, &g, remote) : NULL;

	if (g.username && !url)
		return client_fail(e, EINVAL, 0, "git pull: the repository has no remote '%s' to authenticate with",
		    remote ? remote : "origin");
	int rc = pull_once(sb, &g, url, option, remote, branch, &o, e);

	/* Neither the caller nor the settings choose how to join the branches, so git refused; use the default. */
	if (rc == 0 && o->exit.code != 0 && !option && strstr(o->err, "divergent branches")) {
		atoll_output_free(take_ptr(&o));
		rc = pull_once(sb, &g, url, options[0].option, remote, branch, &o, e);
	}
	if (rc == 0)
		rc = o->exit.code != 0 && is_stuck(o) ? stuck(sb, &g, o, ret_conflicts, e)
						      : git_judge("pull", o, &g, e);
	atoll_output_free(o);
	return rc;
}

int atoll_git_pull(struct atoll_sandbox *sb, const struct atoll_git *g, const char *remote, const char *branch,
    struct atoll_error *e)
{
	NEED(e, sb && g);
	return git_pull(sb, g, remote, branch, NULL, e);
}
