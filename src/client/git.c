/* SPDX-License-Identifier: Apache-2.0 */
/* client/git: runs git in a sandbox.
 *
 * Credentials: the variables GIT_CONFIG_* set a credential helper for this one command, restricted to the remote's
 * host if that is known. The helper prints two other variables. So the secret is only in the environment of git and
 * its children. As an argument, every process could see it, and as part of a URL, it would be stored in .git/config. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "client/git.h"
#include "client/git_status.h"

#define ENVS_MAX 64
#define HELPER \
	"!f() { test \"$1\" = get && printf 'username=%s\\npassword=%s\\n' \"$ATOLL_GIT_USERNAME\" " \
	"\"$ATOLL_GIT_PASSWORD\"; }; f"

void git_word(struct git_words *w, const char *word)
{
	if (w->n == GIT_WORDS_MAX)
		w->full = true;
	else
		w->v[w->n++] = word;
}

struct envs {
	struct atoll_pair v[ENVS_MAX];
	size_t n;
	char *key; /* name of the helper's setting; owned */
};

/* Converts "https://host:1/a/b" to "credential.https://host:1.helper", so that git sends the secret to no other host.
 */
static char *helper_key(const char *url)
{
	const char *host = url ? strstr(url, "://") : NULL;

	if (!host)
		return str_dup(STR_LIT("credential.helper"));
	host += 3;
	size_t n = strcspn(host, "/");
	const char *at = memchr(host, '@', n); /* a user name in the URL is not part of the key */

	if (at) {
		n -= (size_t)(at + 1 - host);
		host = at + 1;
	}
	return str_fmt("credential.%.*s://%.*s.helper", (int)(strstr(url, "://") - url), url, (int)n, host);
}

static int put_envs(struct envs *to, const struct atoll_git *g, const char *url, struct atoll_error *e)
{
	static const struct atoll_pair always[] = {
		{ "GIT_TERMINAL_PROMPT", "0" },
		{ "LC_ALL", "C.UTF-8" },
		{ "LANGUAGE", "C" },
		{ "GIT_PAGER", "cat" },
		{ "GIT_EDITOR", "true" },
	};

	if (g->n_envs > ENVS_MAX - 16 || (g->n_envs > 0 && !g->envs))
		return client_fail(e, EINVAL, 0, "too many variables, or the pointer is NULL");
	if (!g->username != !g->password)
		return client_fail(e, EINVAL, 0, "a user name and a password must be given together");
	for (size_t i = 0; i < ARRAY_LEN(always); i++)
		to->v[to->n++] = always[i];
	for (size_t i = 0; i < g->n_envs; i++)
		to->v[to->n++] = g->envs[i];
	if (!g->username)
		return 0;
	if (strpbrk(g->username, "\r\n") || strpbrk(g->password, "\r\n"))
		return client_fail(e, EINVAL, 0, "the user name or password contains a line break");
	to->key = helper_key(url);
	if (!to->key)
		return client_no_memory(e);
	const struct atoll_pair more[] = {
		/* An empty helper first disables the configured ones. */
		{ "GIT_CONFIG_COUNT", "3" },
		{ "GIT_CONFIG_KEY_0", "credential.helper" },
		{ "GIT_CONFIG_VALUE_0", "" },
		{ "GIT_CONFIG_KEY_1", to->key },
		{ "GIT_CONFIG_VALUE_1", HELPER },
		/* as in the sandbox of a session */
		{ "GIT_CONFIG_KEY_2", "safe.directory" },
		{ "GIT_CONFIG_VALUE_2", "*" },
		{ "ATOLL_GIT_USERNAME", g->username },
		{ "ATOLL_GIT_PASSWORD", g->password },
	};
	for (size_t i = 0; i < ARRAY_LEN(more); i++)
		to->v[to->n++] = more[i];
	return 0;
}

static int run_once(struct atoll_sandbox *sb, const struct atoll_git *g, const char *url, const struct git_words *w,
    struct atoll_output **ret, struct atoll_error *e)
{
	struct envs envs = { .n = 0 };

	if (w->full)
		return client_fail(e, E2BIG, 0, "too many arguments for one git command");
	int rc = put_envs(&envs, g, url, e);
	if (rc == 0)
		rc = atoll_command_run(sb,
		    &(struct atoll_command) {
			.argv = w->v,
			.as_user = g->as_user,
			.envs = envs.v,
			.n_envs = envs.n,
			.timeout_ms = g->timeout_ms,
		    },
		    NULL, NULL, ret, e);
	free(envs.key);
	return rc;
}

int git_run(struct atoll_sandbox *sb, const struct atoll_git *g, const char *url, const struct git_words *w,
    struct atoll_output **ret, struct atoll_error *e)
{
	int rc = run_once(sb, g, url, w, ret, e);

	if (rc < 0 || (*ret)->exit.code == 0 || !git_repair_owner(sb, g, *ret))
		return rc;
	atoll_output_free(take_ptr(ret));
	return run_once(sb, g, url, w, ret, e);
}

static bool is_refusal(const char *text)
{
	static const char *const signs[] = {
		"Authentication failed",
		"could not read Username",
		"could not read Password",
		"terminal prompts disabled",
		"Permission denied (",
		"HTTP Basic: Access denied",
		"Invalid username or",
		"The requested URL returned error: 403",
		"The requested URL returned error: 401",
	};

	for (size_t i = 0; i < ARRAY_LEN(signs); i++) {
		if (strstr(text, signs[i]))
			return true;
	}
	return false;
}

/* The reason is what git wrote, from its first "fatal: " on. Git does not print the password. */
int git_judge(const char *what, const struct atoll_output *o, const struct atoll_git *g, struct atoll_error *e)
{
	const char *text = o->n_err > 0 ? o->err : o->out;
	struct str s = str_of(text);

	if (o->exit.code == 0)
		return 0;
	while (s.n > 0 && (unsigned char)s.p[s.n - 1] <= ' ')
		s.n--;
	const char *fatal = strstr(text, "fatal: ");

	if (fatal && fatal < s.p + s.n)
		str_skip(&s, (size_t)(fatal - s.p));
	if (is_refusal(text))
		return client_fail(e, EACCES, 0, "git %s: the remote refused access%s: %.*s", what,
		    g->username ? "" : " (no user name and password were given)", (int)(s.n < 300 ? s.n : 300), s.p);
	return client_fail(e, EIO, 0, "git %s: %.*s (%s)", what, (int)(s.n < 300 ? s.n : 300), s.p, o->exit.status);
}

int git_do(struct atoll_sandbox *sb, const struct atoll_git *g, const char *url, const struct git_words *w,
    const char *what, char **ret_text, struct atoll_error *e)
{
	struct atoll_output *o = NULL;
	int rc = git_run(sb, g, url, w, &o, e);

	if (rc == 0)
		rc = git_judge(what, o, g, e);
	if (rc == 0 && ret_text) {
		*ret_text = str_dup((struct str) { o->out, o->n_out });
		rc = *ret_text ? 0 : client_no_memory(e);
	}
	atoll_output_free(o);
	return rc;
}

int git_begin(const struct atoll_git *given, struct atoll_git *g, struct git_words *w, struct atoll_error *e)
{
	if (TAKE_IN(g, given, e) < 0)
		return -e->no;
	if (!g->dir || !*g->dir)
		return client_fail(e, EINVAL, 0, "the repository directory is missing");
	*w = (struct git_words) { .n = 0 };
	git_word(w, "git");
	git_word(w, "-C");
	git_word(w, g->dir);
	return 0;
}

int git_check_name(const char *what, const char *z, struct atoll_error *e)
{
	if (!z || (*z && *z != '-'))
		return 0;
	return client_fail(e, EINVAL, 0, "'%s' is not a valid %s name", z, what);
}

int atoll_git_clone(struct atoll_sandbox *sb, const struct atoll_git *given, const char *url, const char *branch,
    unsigned depth, struct atoll_error *e)
{
	NEED(e, sb && given && url);
	autofree char *depth_text = str_fmt("--depth=%u", depth);
	struct atoll_git g;
	struct git_words w = { .n = 0 };

	if (TAKE_IN(&g, given, e) < 0 || git_check_name("remote", url, e) < 0 ||
	    git_check_name("branch", branch, e) < 0)
		return -e->no;
	if (!depth_text)
		return client_no_memory(e);
	git_word(&w, "git");
	git_word(&w, "clone");
	if (branch) {
		git_word(&w, "--branch");
		git_word(&w, branch);
	}
	if (depth > 0)
		git_word(&w, depth_text);
	git_word(&w, "--");
	git_word(&w, url);
	if (g.dir)
		git_word(&w, g.dir);
	return git_do(sb, &g, url, &w, "clone", NULL, e);
}

int atoll_git_diff(struct atoll_sandbox *sb, const struct atoll_git *given, bool staged, char **ret,
    struct atoll_error *e)
{
	NEED(e, sb && given && ret);
	struct atoll_git g;
	struct git_words w;

	if (git_begin(given, &g, &w, e) < 0)
		return -e->no;
	git_word(&w, "diff");
	git_word(&w, "--no-color");
	if (staged)
		git_word(&w, "--staged");
	return git_do(sb, &g, NULL, &w, "diff", ret, e);
}

int atoll_git_add(struct atoll_sandbox *sb, const struct atoll_git *given, const char *const *paths,
    struct atoll_error *e)
{
	NEED(e, sb && given);
	struct atoll_git g;
	struct git_words w;

	if (git_begin(given, &g, &w, e) < 0)
		return -e->no;
	git_word(&w, "add");
	git_word(&w, paths ? "--" : "--all");
	for (; paths && *paths; paths++)
		git_word(&w, *paths);
	return git_do(sb, &g, NULL, &w, "add", NULL, e);
}

int atoll_git_commit(struct atoll_sandbox *sb, const struct atoll_git *given, const struct atoll_git_commit *given_c,
    struct atoll_error *e)
{
	NEED(e, sb && given && given_c);
	struct atoll_git g;
	struct atoll_git_commit c;
	struct git_words w;

	if (git_begin(given, &g, &w, e) < 0 || TAKE_IN(&c, given_c, e) < 0)
		return -e->no;
	if (!c.message || !*c.message)
		return client_fail(e, EINVAL, 0, "a commit needs a message");
	if (c.all && atoll_git_add(sb, given, NULL, e) < 0)
		return -e->no;
	autofree char *name = str_fmt("user.name=%s", c.author_name ? c.author_name : "");
	autofree char *email = str_fmt("user.email=%s", c.author_email ? c.author_email : "");

	if (!name || !email)
		return client_no_memory(e);
	if (c.author_name) {
		git_word(&w, "-c");
		git_word(&w, name);
	}
	if (c.author_email) {
		git_word(&w, "-c");
		git_word(&w, email);
	}
	git_word(&w, "commit");
	git_word(&w, "-m");
	git_word(&w, c.message);
	if (c.allow_empty)
		git_word(&w, "--allow-empty");
	return git_do(sb, &g, NULL, &w, "commit", NULL, e);
}

char *git_remote_url(struct atoll_sandbox *sb, const struct atoll_git *g, const char *remote)
{
	struct git_words w = { .v = { "git", "-C", g->dir, "remote", "get-url", "--", remote ? remote : "origin" },
		.n = 7 };
	struct atoll_git plain = { .dir = g->dir, .as_user = g->as_user, .envs = g->envs, .n_envs = g->n_envs };
	struct atoll_error e;
	char *text = NULL;

	if (git_do(sb, &plain, NULL, &w, "remote", &text, &e) < 0)
		return NULL;
	text[strcspn(text, "\r\n")] = '\0';
	return text;
}

static int exchange(struct atoll_sandbox *sb, const struct atoll_git *given, const char *verb, const char *option,
    const char *remote, const char *branch, struct atoll_error *e)
{
	struct atoll_git g;
	struct git_words w;

	if (git_begin(given, &g, &w, e) < 0 || git_check_name("remote", remote, e) < 0 ||
	    git_check_name("branch", branch, e) < 0)
		return -e->no;
	if (branch && !remote)
		remote = "origin";
	autofree char *url = g.username ? git_remote_url(sb, &g, remote) : NULL;

	if (g.username && !url)
		return client_fail(e, EINVAL, 0, "git %s: the repository has no remote '%s' to authenticate with", verb,
		    remote ? remote : "origin");
	git_word(&w, verb);
	if (option)
		git_word(&w, option);
	if (remote)
		git_word(&w, remote);
	if (branch)
		git_word(&w, branch);
	return git_do(sb, &g, url, &w, verb, NULL, e);
}

int atoll_git_push(struct atoll_sandbox *sb, const struct atoll_git *g, const char *remote, const char *branch,
    bool set_upstream, struct atoll_error *e)
{
	NEED(e, sb && g);
	if (set_upstream && !branch)
		return client_fail(e, EINVAL, 0, "set_upstream requires a branch");
	return exchange(sb, g, "push", set_upstream ? "--set-upstream" : NULL, remote, branch, e);
}

int atoll_git_branch(struct atoll_sandbox *sb, const struct atoll_git *given, const char *name, bool create,
    struct atoll_error *e)
{
	NEED(e, sb && given && name);
	struct atoll_git g;
	struct git_words w;

	if (git_begin(given, &g, &w, e) < 0 || git_check_name("branch", name, e) < 0)
		return -e->no;
	git_word(&w, "checkout");
	if (create)
		git_word(&w, "-b");
	git_word(&w, name);
	return git_do(sb, &g, NULL, &w, "checkout", NULL, e);
}

int atoll_git_branches(struct atoll_sandbox *sb, const struct atoll_git *given, char **ret, struct atoll_error *e)
{
	NEED(e, sb && given && ret);
	struct atoll_git g;
	struct git_words w;

	if (git_begin(given, &g, &w, e) < 0)
		return -e->no;
	git_word(&w, "for-each-ref");
	git_word(&w, "--sort=-HEAD");
	git_word(&w, "--format=%(refname:short)");
	git_word(&w, "refs/heads");
	return git_do(sb, &g, NULL, &w, "for-each-ref", ret, e);
}

int atoll_git_run(struct atoll_sandbox *sb, const struct atoll_git *given, const char *const *argv,
    struct atoll_output **ret, struct atoll_error *e)
{
	NEED(e, sb && given && argv && ret);
	struct atoll_git g;
	struct git_words w;

	if (git_begin(given, &g, &w, e) < 0)
		return -e->no;
	for (; *argv; argv++)
		git_word(&w, *argv);
	autofree char *url = g.username ? git_remote_url(sb, &g, NULL) : NULL;

	return git_run(sb, &g, url, &w, ret, e);
}

int atoll_git_status(struct atoll_sandbox *sb, const struct atoll_git *given, struct atoll_git_status **ret,
    struct atoll_error *e)
{
	NEED(e, sb && given && ret);
	struct atoll_output *o = NULL;
	struct atoll_git g;
	struct git_words w;

	if (git_begin(given, &g, &w, e) < 0)
		return -e->no;
	git_word(&w, "status");
	git_word(&w, "--porcelain=v1");
	git_word(&w, "-z");
	git_word(&w, "--branch");
	int rc = git_run(sb, &g, NULL, &w, &o, e);

	if (rc == 0)
		rc = git_judge("status", o, &g, e);
	if (rc == 0) {
		*ret = git_status_parse((struct str) { o->out, o->n_out });
		rc = *ret ? 0 : client_no_memory(e);
	}
	atoll_output_free(o);
	return rc;
}
