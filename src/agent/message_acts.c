/* SPDX-License-Identifier: Apache-2.0 */
/* agent/message_acts: sandboxes, packages and git for a message. Acts only on what the message names. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/messages.h"
#include "agent/request.h"
#include "agent/run.h"
#include "base/fd.h"
#include "http/json.h"
#include "mcp/tools.h"

#define TIMEOUT_S 300

/* --- sandboxes --- */

/* A timeout of a call that runs no code is the server's fault. */
static void server_late(struct atoll_error *e)
{
	if (e->no == ETIMEDOUT)
		e->status = 504;
}

struct making {
	struct atoll *a;
	const struct atoll_spec *spec;
	struct atoll_sandbox **ret;
};

static int make_one(void *user, struct atoll_error *e)
{
	struct making *t = user;
	int rc = atoll_sandbox_create(t->a, t->spec, t->ret, e);

	server_late(e);
	return rc;
}

static void create_sandbox(struct message *m, const struct intent *i)
{
	const struct atoll_pair metadata[] = { { "agent", m->agent_id ? m->agent_id : STATE_AGENT } };
	const struct atoll_spec spec = {
		.template_id = state()->settings->environment,
		.timeout_s = i->timeout_s ? i->timeout_s : TIMEOUT_S,
		.metadata = metadata,
		.n_metadata = 1,
	};
	struct atoll_sandbox *sb = NULL;
	struct atoll_error e = { 0 };

	if (m->dry_run) {
		message_say(m, "Would create a sandbox that ends after %u seconds.", spec.timeout_s);
		return;
	}
	if (!message_client(m, &e) || state_try(m->a, make_one, &(struct making) { m->a, &spec, &sb }, &e) < 0) {
		server_late(&e);
		message_failed(m, "create a sandbox", &e);
		return;
	}
	message_say(m, "Created sandbox %s. It ends after %u seconds.", atoll_sandbox_id(sb), spec.timeout_s);
	(void)json_object_set_new(m->data, "sandbox",
	    json_pack("{s:s,s:s,s:I}", "sandboxId", atoll_sandbox_id(sb), "template", spec.template_id, "timeoutMs",
		(json_int_t)spec.timeout_s * 1000));
	atoll_sandbox_free(sb);
}

json_t *agent_sandbox_rows(const struct atoll_list *l)
{
	json_t *rows = json_array();

	for (size_t i = 0; i < l->n; i++)
		(void)json_array_append_new(rows,
		    json_pack("{s:s,s:b,s:s,s:s,s:s*,s:s}", "sandboxId", l->v[i].id, "isActive",
			strcmp(l->v[i].state, "running") == 0, "template",
			l->v[i].alias ? l->v[i].alias : l->v[i].template_id, "createdAt", l->v[i].started_at,
			"lastActivity", l->v[i].last_activity_at, "endAt", l->v[i].end_at));
	return rows;
}

static void list_sandboxes(struct message *m)
{
	struct atoll_list *l = NULL;
	struct atoll_error e = { 0 };

	if (m->dry_run) {
		message_say(m, "Would list the sandboxes.");
		return;
	}
	if (!message_client(m, &e) || atoll_list_sandboxes(m->a, &l, &e) < 0) {
		server_late(&e);
		message_failed(m, "list the sandboxes", &e);
		return;
	}
	message_say(m,
	    l->n == 0       ? "There are no sandboxes."
		: l->n == 1 ? "There is 1 sandbox:"
			    : "There are %zu sandboxes:",
	    l->n);
	for (size_t i = 0; i < l->n; i++)
		message_say(m, "- %s: %s, from %s, ends %s", l->v[i].id, l->v[i].state,
		    l->v[i].alias ? l->v[i].alias : l->v[i].template_id, l->v[i].end_at);
	(void)json_object_set_new(m->data, "sandboxes", agent_sandbox_rows(l));
	atoll_list_free(l);
}

static void kill_sandboxes(struct message *m, const struct intent *i)
{
	json_t *killed = json_array();
	struct atoll_error e = { 0 };

	if (i->n_names == 0) {
		m->success = false;
		message_say(m, "Which sandbox? Give its ID. Nothing was killed.");
	}
	for (size_t k = 0; k < i->n_names; k++) {
		if (m->dry_run) {
			message_say(m, "Would kill sandbox %s.", i->names[k]);
		} else if (message_client(m, &e) && atoll_kill(m->a, i->names[k], &e) == 0) {
			message_say(m, "Killed sandbox %s.", i->names[k]);
			(void)json_array_append_new(killed, json_string(i->names[k]));
		} else if (e.no == ENOENT) {
			m->success = false;
			message_say(m, "There is no sandbox %s. Nothing was killed.", i->names[k]);
		} else {
			server_late(&e);
			message_failed(m, "kill the sandbox", &e);
		}
	}
	(void)json_object_set_new(m->data, "killed", killed);
}

/* --- packages --- */

/* Output of a program need not be UTF-8. */
static json_t *text_json(const char *z)
{
	json_t *j = json_string(z ? z : "");

	return j ? j : json_string("(not valid UTF-8)");
}

struct installing {
	struct message *m;
	const struct intent *i;
	struct atoll_output **ret;
};

static int install_them(void *user, struct atoll_error *e)
{
	struct installing *t = user;
	struct atoll_sandbox *sb = NULL;
	int rc = message_sandbox(t->m, &sb, e);

	if (rc == 0)
		rc = atoll_install(sb, t->i->manager, (const char *const *)t->i->names, t->i->n_names, 0, t->ret, e);
	atoll_sandbox_free(sb);
	return rc;
}

static void install(struct message *m, const struct intent *i)
{
	struct atoll_output *out = NULL;
	struct atoll_error e = { 0 };

	if (i->n_names == 0) {
		m->success = false;
		message_say(m, "Which packages? Name them.");
		return;
	}
	for (size_t k = 0; k < i->n_names; k++) {
		if (atoll_package_check(i->manager, i->names[k], &e) < 0) {
			message_failed(m, "install packages", &e);
			return;
		}
	}
	if (m->dry_run) {
		message_say(m, "Would install %zu packages with %s.", i->n_names, i->manager);
		return;
	}
	if (message_session(m, &e) < 0 || state_try(m->a, install_them, &(struct installing) { m, i, &out }, &e) < 0) {
		message_failed(m, "install packages", &e);
		return;
	}
	atoll_session_written(state()->sessions, m->session.id);
	bool ok = out->exit.code == 0;

	m->success &= ok;
	message_say(m, ok ? "Installed with %s:" : "%s could not install:", i->manager);
	for (size_t k = 0; k < i->n_names; k++)
		message_say(m, "- %s", i->names[k]);
	if (!ok)
		message_say(m, "%.*s", out->n_err > 2000 ? 2000 : (int)out->n_err, out->err);
	(void)json_object_set_new(m->data, "install",
	    json_pack("{s:s,s:i,s:o,s:o}", "manager", i->manager, "exitCode", out->exit.code, "stdout",
		text_json(out->out), "stderr", text_json(out->err)));
	atoll_output_free(out);
}

/* --- git --- */

struct remote { /* a URL, split into what may be shown and credentials */
	char *url, *username, *password;
};

static void remote_done(struct remote *r)
{
	if (r->password)
		explicit_bzero(r->password, strlen(r->password));
	free(r->url);
	free(r->username);
	free(r->password);
}

static int git_act(struct message *m, const struct intent *i, struct atoll_sandbox *sb, const struct remote *r,
    struct atoll_error *e)
{
	const struct atoll_git g = { .dir = i->dir  ? i->dir
		    : strcmp(i->verb, "clone") == 0 ? NULL
						    : m->dir,
		.username = r->username,
		.password = r->password };
	const struct atoll_git_commit commit = { .message = i->text, .all = true };
	autofree char *diff = NULL;
	struct atoll_git_status *st = NULL;

	if (strcmp(i->verb, "clone") == 0)
		return atoll_git_clone(sb, &g, r->url, NULL, 0, e);
	if (strcmp(i->verb, "pull") == 0)
		return atoll_git_pull(sb, &g, NULL, NULL, e);
	if (strcmp(i->verb, "push") == 0)
		return atoll_git_push(sb, &g, NULL, NULL, false, e);
	if (strcmp(i->verb, "commit") == 0)
		return atoll_git_commit(sb, &g, &commit, e);
	if (strcmp(i->verb, "diff") == 0) {
		if (atoll_git_diff(sb, &g, false, &diff, e) < 0)
			return -e->no;
		buf_z(&m->reply, *diff ? diff : "No changes.\n");
		return 0;
	}
	if (atoll_git_status(sb, &g, &st, e) < 0)
		return -e->no;
	message_say(m, "On branch %s, %zu changed files.", st->branch ? st->branch : "(none)", st->n);
	for (size_t k = 0; k < st->n; k++)
		message_say(m, "%c%c %s", st->v[k].index, st->v[k].tree, st->v[k].path);
	atoll_git_status_free(st);
	return 0;
}

struct gitting {
	struct message *m;
	const struct intent *i;
	const struct remote *r;
};

static int git_in_sandbox(void *user, struct atoll_error *e)
{
	struct gitting *t = user;
	struct atoll_sandbox *sb = NULL;
	int rc = message_sandbox(t->m, &sb, e);

	if (rc == 0)
		rc = git_act(t->m, t->i, sb, t->r, e);
	atoll_sandbox_free(sb);
	return rc;
}

static void git(struct message *m, const struct intent *i)
{
	bool clone = strcmp(i->verb, "clone") == 0;
	__attribute__((cleanup(remote_done))) struct remote r = { 0 };
	struct atoll_error e = { 0 };

	if ((clone && !i->url) || (strcmp(i->verb, "commit") == 0 && !i->text) || (!clone && !i->dir && !m->dir)) {
		m->success = false;
		message_say(m,
		    clone ? "Which repository? Give its URL."
			: i->dir || m->dir
			? "Give the commit message in quotes."
			: "In which directory? Name it ('in /home/user/project') or set workingDirectory.");
		return;
	}
	/* A token in a URL would show in .git/config, process lists and logs. It is removed and passed to git in the
	 * environment. */
	if (i->url && tool_split_url(i->url, &r.url, &r.username, &r.password) < 0) {
		m->success = false;
		message_say(m, "That is not a repository URL.");
		return;
	}
	if (m->dry_run) {
		message_say(m, clone ? "Would run git %s %s." : "Would run git %s.%s", i->verb, clone ? r.url : "");
		return;
	}
	int rc = message_session(m, &e);

	if (rc == 0)
		rc = state_try(m->a, git_in_sandbox, &(struct gitting) { m, i, &r }, &e);
	if (*m->session.id)
		atoll_session_written(state()->sessions, m->session.id);
	if (rc < 0)
		message_failed(m, "run git", &e);
	else
		message_say(m, clone ? "Cloned %s." : "git %s: done.", clone ? r.url : i->verb);
	(void)json_object_set_new(m->data, "git",
	    json_pack("{s:s,s:b,s:s*}", "operation", i->verb, "success", rc == 0, "url", r.url));
}

void message_do(struct message *m, const struct intent *i)
{
	switch (i->kind) {
	case INTENT_CODE:
	case INTENT_SUM:
		message_code(m, i);
		break;
	case INTENT_CREATE:
		create_sandbox(m, i);
		break;
	case INTENT_LIST:
		list_sandboxes(m);
		break;
	case INTENT_KILL:
		kill_sandboxes(m, i);
		break;
	case INTENT_INSTALL:
		install(m, i);
		break;
	case INTENT_GIT:
		git(m, i);
		break;
	}
}
