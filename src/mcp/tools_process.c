/* SPDX-License-Identifier: Apache-2.0 */
/* mcp/tools_process: runs commands in the foreground or background, and manages their processes. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/rand.h"
#include "base/str.h"
#include "http/json.h"
#include "mcp/tools.h"

#define START_MS 10000
#define LOGS "/tmp/atoll" /* where background commands write */

static int on_output(void *user, enum atoll_stream which, const void *p, size_t n)
{
	(void)which;
	return run_output(user, p, n);
}

static void run_command(struct tool_run *r)
{
	size_t n_envs;
	autofree struct atoll_pair *envs = run_pairs(r, "envs", &n_envs);
	struct atoll_command cmd = { .line = run_str(r, "command"),
		.cwd = run_str(r, "cwd"),
		.as_user = run_some(r, "user"),
		.envs = envs,
		.n_envs = n_envs,
		.timeout_ms = run_timeout_ms(r) };
	struct atoll_output *out;
	struct atoll_error e;

	if (!cmd.cwd)
		cmd.cwd = run_str(r, "workingDirectory");
	if (!run_may_command(r, cmd.line) || !run_sandbox(r))
		return;
	if (atoll_command_run(r->sandbox->sb, &cmd, on_output, r, &out, &e) < 0) {
		if (e.no == ETIMEDOUT && e.status != 504)
			(void)snprintf(e.text, sizeof e.text, "the command did not finish within %u ms and was killed",
			    cmd.timeout_ms);
		(void)run_failed(r, &e);
		return;
	}
	r->is_error = out->exit.code != 0;
	if (out->n_out)
		run_text(r, out->out, out->n_out);
	if (out->n_err)
		run_say(r, "stderr:"), run_text(r, out->err, out->n_err);
	if (r->is_error || (!out->n_out && !out->n_err))
		run_say(r, "%s", out->exit.status);
	if (out->truncated)
		run_say(r,
		    "(The output was truncated: only its beginning is shown. Redirect it to a file to see the rest.)");
	run_set(r, "exitCode", json_integer(out->exit.code));
	run_set(r, "stdout", run_string(out->out, out->n_out));
	run_set(r, "stderr", run_string(out->err, out->n_err));
	run_set(r, "truncated", json_boolean(out->truncated));
	atoll_output_free(out);
}

/* Polls until done() is true. 0: it is; 1: the process ended first; -1: failed, and reported. */
static int poll_until(struct tool_run *r, struct atoll_process *p, bool (*done)(const struct atoll_process *p))
{
	uint64_t end = clock_mono_ms() + START_MS;
	struct atoll_error e;

	while (!done(p)) {
		int rc = atoll_process_poll(p, NULL, 0, 100, &e);

		if (rc < 0)
			return run_failed(r, &e);
		if (rc == 1)
			return 1;
		if (clock_mono_ms() > end)
			return run_fail(r, "TIMEOUT: the sandbox does not respond"), -1;
	}
	return 0;
}

static bool has_started(const struct atoll_process *p)
{
	return atoll_process_pid(p) > 0;
}

/* Output goes to a file, so that no connection has to stay open. */
static void start_background(struct tool_run *r)
{
	const char *command = run_str(r, "command");
	size_t n_envs;
	autofree struct atoll_pair *envs = run_pairs(r, "envs", &n_envs);
	char name[17], tag[32];
	struct atoll_process *p;
	struct atoll_error e;

	if (!run_may_command(r, command))
		return;
	rand_hex(name, 16);
	autofree char *log = str_fmt(LOGS "/%s.log", name);
	autofree char *line = log ? str_fmt("mkdir -p " LOGS " && exec >%s 2>&1\n%s", log, command) : NULL;
	struct atoll_command cmd = { .line = line,
		.cwd = run_str(r, "cwd"),
		.as_user = run_some(r, "user"),
		.envs = envs,
		.n_envs = n_envs,
		.with_stdin = true,
		.timeout_ms = ATOLL_NO_TIMEOUT,
		.tag = tag };

	(void)snprintf(tag, sizeof tag, "mcp-%s", name);
	if (!line || !run_sandbox(r))
		return;
	if (atoll_process_start(r->sandbox->sb, &cmd, NULL, NULL, &p, &e) < 0) {
		(void)run_failed(r, &e);
		return;
	}
	int rc = poll_until(r, p, has_started);

	if (rc >= 0) {
		r->shown = true;
		run_say(r, "Started with pid %lld; output goes to %s", (long long)atoll_process_pid(p), log);
		run_set(r, "pid", json_integer(atoll_process_pid(p)));
		run_set(r, "logFile", json_string(log));
		run_set(r, "ended", json_boolean(rc == 1));
	}
	atoll_process_free(p);
}

static void list_processes(struct tool_run *r)
{
	struct atoll_processes *l;
	struct atoll_error e;

	if (!run_sandbox(r))
		return;
	if (atoll_processes_list(r->sandbox->sb, &l, &e) < 0) {
		(void)run_failed(r, &e);
		return;
	}
	json_t *list = json_array();

	for (size_t i = 0; i < l->n; i++) {
		json_t *argv = json_array();

		for (size_t k = 0; l->v[i].argv && l->v[i].argv[k]; k++)
			json_array_append_new(argv, run_string(l->v[i].argv[k], strlen(l->v[i].argv[k])));
		run_say(r, "%lld %s", (long long)l->v[i].pid, l->v[i].argv && l->v[i].argv[0] ? l->v[i].argv[0] : "");
		json_array_append_new(list,
		    json_pack("{s:I,s:o,s:s*,s:s*}", "pid", (json_int_t)l->v[i].pid, "argv", argv, "cwd", l->v[i].cwd,
			"tag", l->v[i].tag));
	}
	if (l->n == 0)
		run_say(r, "(no processes)");
	run_set(r, "processes", list);
	atoll_processes_free(l);
}

static void send_input(struct tool_run *r)
{
	const char *input = run_str(r, "input");
	struct atoll_process *p;
	struct atoll_error e;

	if (!run_sandbox(r))
		return;
	if (atoll_process_connect(r->sandbox->sb, run_int(r, "pid", 0), false, NULL, NULL, &p, &e) < 0) {
		(void)run_failed(r, &e);
		return;
	}
	int rc = poll_until(r, p, atoll_process_can_send);

	if (rc == 0) {
		rc = atoll_process_send(p, input, strlen(input));
		if (rc < 0)
			run_fail(r, "NOT_FOUND: the process's standard input is closed");
		else
			rc = poll_until(r, p, atoll_process_can_send); /* until the input is sent */
	} else if (rc == 1) {
		run_fail(r, "NOT_FOUND: the process has exited");
	}
	if (rc >= 0 && !r->is_error) {
		run_say(r, "Sent %zu bytes", strlen(input));
		run_set(r, "sent", json_integer((json_int_t)strlen(input)));
	}
	atoll_process_free(p);
}

static void kill_process(struct tool_run *r)
{
	const char *name = run_str(r, "signal");
	int sig = name && strcmp(name, "SIGTERM") == 0 ? SIGTERM : SIGKILL;
	struct atoll_error e;

	if (!run_sandbox(r))
		return;
	if (atoll_process_kill(r->sandbox->sb, run_int(r, "pid", 0), sig, &e) < 0) {
		(void)run_failed(r, &e);
		return;
	}
	run_say(r, "Sent the signal to process %lld", (long long)run_int(r, "pid", 0));
	run_set(r, "pid", json_integer(run_int(r, "pid", 0)));
}

const struct tool_handler tools_process[] = {
	{ "run_command", run_command, .seeks = SEEKS_PATH },
	{ "terminal", run_command, .seeks = SEEKS_PATH },
	{ "executeTerminalCommand", run_command, .seeks = SEEKS_PATH },
	{ "start_background_command", start_background, .seeks = SEEKS_PATH },
	{ "list_processes", list_processes },
	{ "send_input", send_input, .seeks = SEEKS_PROCESS },
	{ "kill_process", kill_process, .seeks = SEEKS_PROCESS },
	{ NULL },
};
