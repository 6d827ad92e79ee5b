/* SPDX-License-Identifier: Apache-2.0 */
/* client/command: runs a command until it exits, and lists processes. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "client/client.h"
#include "client/command.h"
#include "client/event.h"
#include "http/json.h"

#define KEPT_MAX (16u * 1024 * 1024) /* per stream */
#define TIMEOUT_MS 60000u

bool command_is_tty(const struct atoll_command *cmd)
{
	return cmd->tty_cols > 0 && cmd->tty_rows > 0;
}

json_t *command_size(unsigned cols, unsigned rows)
{
	return json_pack("{s:{s:I,s:I}}", "size", "cols", (json_int_t)cols, "rows", (json_int_t)rows);
}

static json_t *args_json(const char *const *argv, struct atoll_error *e)
{
	json_t *args = json_array();

	for (size_t i = 1; argv[i]; i++) {
		if (json_array_append_new(args, json_string(argv[i])) == 0)
			continue;
		client_fail(e, EINVAL, 0, "argument %zu of the command is not valid UTF-8", i);
		json_decref(args);
		return NULL;
	}
	return args;
}

json_t *command_message(const struct atoll_command *cmd, struct atoll_error *e)
{
	const char *const shell[] = { "/bin/bash", "-l", "-c", cmd->line, NULL };
	const char *const *argv = cmd->line ? shell : cmd->argv;
	json_t *envs = NULL;

	if (!argv || !argv[0] || (cmd->line && cmd->argv)) {
		client_fail(e, EINVAL, 0,
		    cmd->line ? "the command has both a line and an argument vector" : "the command is empty");
		return NULL;
	}
	json_t *args = args_json(argv, e);
	if (!args)
		return NULL;
	if (client_pairs_json(cmd->envs, cmd->n_envs, &envs, e) < 0) {
		json_decref(args);
		return NULL;
	}
	json_t *process = json_pack("{s:s,s:o,s:o,s:s*}", "cmd", argv[0], "args", args, "envs", envs, "cwd", cmd->cwd);
	json_t *message = process ? json_pack("{s:o,s:b,s:s*}", "process", process, "stdin",
					cmd->with_stdin || command_is_tty(cmd), "tag", cmd->tag)
				  : NULL;

	if (!message)
		client_fail(e, EINVAL, 0, "the command, its directory or its tag is not valid UTF-8");
	else if (command_is_tty(cmd))
		(void)json_object_set_new(message, "pty", command_size(cmd->tty_cols, cmd->tty_rows));
	return message;
}

/* --- running a command --- */

struct run {
	struct atoll_output pub; /* must be first: the public pointer is converted to this */
	atoll_sink *sink;
	void *user;
	struct buf out, err;
	size_t keep; /* bytes per stream; 0: none */
};

static void keep_output(struct run *r, struct buf *to, const struct buf *data)
{
	size_t room = r->keep - to->n;

	if (data->n > room)
		r->pub.truncated = true;
	buf_put(to, data->p, data->n < room ? data->n : room);
}

static int on_event(void *user, const struct event *ev, const struct buf *data, struct atoll_error *e)
{
	struct run *r = user;

	switch (ev->kind) {
	case EVENT_START:
		r->pub.pid = ev->pid;
		return 0;
	case EVENT_DATA:
		if (r->sink && r->sink(r->user, ev->stream, data->p, data->n) != 0)
			return client_fail(e, ECANCELED, 0, "interrupted");
		if (r->keep)
			keep_output(r, ev->stream == ATOLL_STDOUT ? &r->out : &r->err, data);
		return r->out.bad || r->err.bad ? client_no_memory(e) : 0;
	case EVENT_END:
		r->pub.exit = ev->exit;
		return 1;
	default:
		return 0;
	}
}

void atoll_output_free(struct atoll_output *o)
{
	struct run *r = (struct run *)o;

	if (!r)
		return;
	buf_done(&r->out);
	buf_done(&r->err);
	free(r);
}

static int finish(struct run *r, struct atoll_output **ret, struct atoll_error *e)
{
	r->pub.n_out = r->out.n;
	r->pub.n_err = r->err.n;
	r->pub.out = buf_cstr(&r->out);
	r->pub.err = buf_cstr(&r->err);
	if (!r->pub.out || !r->pub.err || !ret) {
		int rc = ret ? client_no_memory(e) : 0;

		atoll_output_free(&r->pub);
		return rc;
	}
	*ret = &r->pub;
	return 0;
}

int atoll_command_run(struct atoll_sandbox *sb, const struct atoll_command *given, atoll_sink *sink, void *user,
    struct atoll_output **ret, struct atoll_error *e)
{
	NEED(e, sb && given);
	struct atoll_command cmd;

	if (TAKE_IN(&cmd, given, e) < 0)
		return -e->no;
	if (cmd.with_stdin)
		return client_fail(e, EINVAL, 0, "a command with input must be started with atoll_process_start()");
	autojson json_t *message = command_message(&cmd, e);
	if (!message)
		return -e->no;
	struct run *r = calloc(1, sizeof(*r));
	if (!r)
		return client_no_memory(e);
	r->sink = sink;
	r->user = user;
	r->keep = !ret ? 0 : sb->a->keep_max ? sb->a->keep_max : KEPT_MAX;
	r->out = r->err = BUF_INIT(r->keep + 1);
	struct rpc_stream s = {
		.sb = sb,
		.as_user = cmd.as_user,
		.path = "/process.Process/Start",
		.timeout_ms = cmd.timeout_ms ? cmd.timeout_ms : TIMEOUT_MS,
		.on_event = on_event,
		.user = r,
	};
	int rc = rpc_stream(&s, message, e);

	if (rc == 0)
		rc = client_broke(sb, "the command ended", e);
	if (rc < 0) {
		atoll_output_free(&r->pub);
		return rc;
	}
	return finish(r, ret, e);
}

/* --- listing processes --- */

static void fill(struct kept *k, void *item, json_t *o)
{
	struct atoll_process_info *p = item;
	const json_t *config = json_object_get(o, "config");

	(void)k;
	*p = (struct atoll_process_info) {
		.pid = json_number(o, "pid", 0),
		.cwd = json_text_or_null(config, "cwd"),
		.tag = json_text_or_null(o, "tag"),
	};
}

/* Stores the argument vectors of all processes in one array. */
static int fill_words(struct kept *k)
{
	size_t words = 0, at = 0;

	for (size_t i = 0; i < k->n; i++)
		words += json_array_size(json_object_get(json_object_get(kept_item(k, i), "config"), "args")) + 2;
	const char **all = calloc(words + 1, sizeof(*all));
	if (!all)
		return -ENOMEM;
	k->more = all;
	for (size_t i = 0; i < k->n; i++) {
		const json_t *config = json_object_get(kept_item(k, i), "config"),
			     *args = json_object_get(config, "args");

		((struct atoll_process_info *)k->items)[i].argv = all + at;
		all[at++] = json_text(config, "cmd");
		for (size_t j = 0; j < json_array_size(args); j++) {
			const char *word = json_string_value(json_array_get(args, j));

			all[at++] = word ? word : "";
		}
		at++; /* terminating NULL */
	}
	return 0;
}

int atoll_processes_list(struct atoll_sandbox *sb, struct atoll_processes **ret, struct atoll_error *e)
{
	NEED(e, sb && ret);
	autojson json_t *body = json_object(), *answer = NULL;
	struct kept *k;

	if (rpc_call(sb, NULL, "/process.Process/List", body, &answer, e) < 0)
		return -e->no;
	json_t *all = json_object_get(answer, "processes");
	if (kept_new(json_is_array(all) ? json_incref(all) : json_array(), sizeof(struct atoll_process_info), fill,
		NULL, &k, e) < 0)
		return -e->no;
	if (fill_words(k) < 0) {
		kept_free(k);
		return client_no_memory(e);
	}
	*ret = &k->processes;
	return 0;
}

void atoll_processes_free(struct atoll_processes *l)
{
	kept_free((struct kept *)l);
}

int atoll_process_kill(struct atoll_sandbox *sb, int64_t pid, int sig, struct atoll_error *e)
{
	NEED(e, sb);
	if ((sig != SIGKILL && sig != SIGTERM) || pid <= 0)
		return client_fail(e, EINVAL, 0, "only SIGKILL and SIGTERM can be sent, to a valid process ID");
	autojson json_t *body = json_pack("{s:{s:I},s:s}", "process", "pid", (json_int_t)pid, "signal",
	    sig == SIGKILL ? "SIGNAL_SIGKILL" : "SIGNAL_SIGTERM");

	return rpc_call(sb, NULL, "/process.Process/SendSignal", body, NULL, e);
}
