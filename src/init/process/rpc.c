/* SPDX-License-Identifier: Apache-2.0 */
/* process_rpc: the process.Process calls: parses messages and calls process.h. */
#include "init/process/rpc.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "http/json.h"
#include "http/server.h"
#include "init/call.h"
#include "init/files/path.h"
#include "init/init.h"
#include "init/process/process.h"
#include "init/text.h"

#define ARGS_MAX 65536
#define TAG_MAX 1024

/* Message parsing. Each of these has failed the call when it returns non-zero. */

static int bad(struct call *c, const struct err *e)
{
	call_fail(c, CONNECT_INVALID_ARGUMENT, "%s", e->text);
	return -EINVAL;
}

static int get_sel(struct call *c, const json_t *msg, struct proc_sel *ret)
{
	struct err e = ERR_INIT;
	json_t *sel = NULL;
	const char *tag = NULL;
	int64_t pid = -1;

	if (json_get_obj(msg, "process", &sel, &e) < 0 || (sel && json_get_str(sel, "tag", &tag, &e) < 0) ||
	    (sel && json_get_int(sel, "pid", 0, UINT32_MAX, &pid, &e) < 0))
		return bad(c, &e);
	if (!tag && pid < 0) {
		(void)err_set(&e, EINVAL, "field 'process' must hold 'pid' or 'tag'");
		return bad(c, &e);
	}
	*ret = (struct proc_sel) { .tag = tag, .pid = pid > INT32_MAX ? -1 : (pid_t)pid };
	return 0;
}

static int get_proc(struct call *c, const json_t *msg, bool ended, struct proc **ret)
{
	struct proc_sel sel;

	if (get_sel(c, msg, &sel) < 0)
		return -EINVAL;
	*ret = procs_find(c->in, &sel, ended);
	if (*ret)
		return 0;
	if (sel.tag)
		call_fail(c, CONNECT_NOT_FOUND, "process with tag %s not found", sel.tag);
	else
		call_fail(c, CONNECT_NOT_FOUND, "process with pid %d not found", (int)sel.pid);
	return -ENOENT;
}

static int get_size(struct call *c, const json_t *pty, uint16_t *ret_cols, uint16_t *ret_rows)
{
	struct err e = ERR_INIT;
	int64_t cols = 0, rows = 0;
	json_t *size = NULL;

	if (json_get_obj(pty, "size", &size, &e) < 0 ||
	    (size && json_get_int(size, "cols", 0, UINT16_MAX, &cols, &e) < 0) ||
	    (size && json_get_int(size, "rows", 0, UINT16_MAX, &rows, &e) < 0))
		return bad(c, &e);
	*ret_cols = (uint16_t)cols;
	*ret_rows = (uint16_t)rows;
	return 0;
}

/* Start. */

struct start { /* a StartRequest; strings belong to the message */
	const char *cmd, *cwd, *tag;
	json_t *args, *envs, *pty;
	bool want_stdin;
	uint16_t cols, rows;
};

static int check_start(const struct start *s, struct err *e)
{
	size_t i;
	json_t *arg;

	if (s->cmd[0] == '\0')
		return err_set(e, EINVAL, "field 'process.cmd' must not be empty");
	if (s->tag && strlen(s->tag) > TAG_MAX)
		return err_set(e, EINVAL, "field 'tag' is longer than %d bytes", TAG_MAX);
	if (strlen(s->cwd) >= PATH_MAX)
		return err_set(e, EINVAL, "field 'process.cwd' is longer than %d bytes", PATH_MAX - 1);
	if (json_array_size(s->args) > ARGS_MAX)
		return err_set(e, EINVAL, "field 'process.args' has more than %d items", ARGS_MAX);
	json_array_foreach(s->args, i, arg)
	{
		if (!json_is_string(arg))
			return err_set(e, EINVAL, "field 'process.args' must be an array of strings");
	}
	return s->envs ? env_check(s->envs, "process.envs", e) : 0;
}

static int get_start(struct call *c, json_t *msg, struct start *ret)
{
	struct start s = { .cmd = "", .cwd = "", .want_stdin = true };
	struct err e = ERR_INIT;
	json_t *process = NULL;

	if (json_get_obj(msg, "process", &process, &e) < 0)
		return bad(c, &e);
	if (!process) {
		(void)err_set(&e, EINVAL, "field 'process' is missing");
		return bad(c, &e);
	}
	if (json_get_str(process, "cmd", &s.cmd, &e) < 0 || json_get_str(process, "cwd", &s.cwd, &e) < 0 ||
	    json_get_arr(process, "args", &s.args, &e) < 0 || json_get_obj(process, "envs", &s.envs, &e) < 0 ||
	    json_get_str(msg, "tag", &s.tag, &e) < 0 || json_get_bool(msg, "stdin", &s.want_stdin, &e) < 0 ||
	    json_get_obj(msg, "pty", &s.pty, &e) < 0 || check_start(&s, &e) < 0)
		return bad(c, &e);
	if (s.pty && get_size(c, s.pty, &s.cols, &s.rows) < 0)
		return -EINVAL;
	*ret = s;
	return 0;
}

static json_t *config_of(const struct start *s)
{
	json_t *o = json_object();

	(void)json_object_set_new(o, "cmd", json_string(s->cmd));
	(void)json_object_set_new(o, "args", s->args ? json_incref(s->args) : json_array());
	(void)json_object_set_new(o, "envs", s->envs ? json_incref(s->envs) : json_object());
	if (s->cwd[0])
		(void)json_object_set_new(o, "cwd", json_string(s->cwd));
	return o;
}

static char **argv_of(const struct start *s)
{
	size_t n = json_array_size(s->args);
	char **argv = calloc(n + 2, sizeof(char *));

	if (!argv)
		return NULL;
	argv[0] = (char *)s->cmd;
	for (size_t i = 0; i < n; i++)
		argv[i + 1] = (char *)json_string_value(json_array_get(s->args, i));
	return argv;
}

static int get_cwd(struct call *c, const struct start *s, char **ret)
{
	autofree char *cwd = NULL;
	struct stat st;
	int rc = path_resolve(s->cwd, c->user.home, c->in->default_workdir, &cwd);

	if (rc < 0) {
		call_fail(c, CONNECT_INVALID_ARGUMENT, "failed to expand path '%s' for user '%s': %s", s->cwd,
		    c->user.name, "cannot expand user-specific home dir");
		return rc;
	}
	if (stat(cwd, &st) < 0 && (errno == ENOENT || errno == ENOTDIR)) {
		call_fail(c, CONNECT_INVALID_ARGUMENT, "cwd '%s' does not exist", cwd);
		return -ENOENT;
	}
	*ret = take_ptr(&cwd);
	return 0;
}

static void fail_start(struct call *c, const struct start *s, const struct err *e)
{
	if (e->no == EUSERS)
		call_fail(c, CONNECT_RESOURCE_EXHAUSTED, "%s", e->text);
	else if (e->no == ENOMEM || e->no == EMFILE || e->no == ENFILE)
		call_fail(c, CONNECT_INTERNAL, "error starting process '%.1000s': %s", s->cmd, e->text);
	else
		call_fail(c, CONNECT_INVALID_ARGUMENT, "error starting process '%.1000s': %s", s->cmd, e->text);
}

static void show_started(struct call *c, struct proc *p, const char *program)
{
	events_started(&c->in->events, proc_pid(p), program, c->user.name,
	    http_header_get(&c->rq->headers, "x-request-id"));
	if (proc_attach(p, c, true, 0) < 0)
		call_fail(c, CONNECT_INTERNAL, "out of memory");
}

void process_start(struct call *c, json_t *msg)
{
	autofree char *cwd = NULL;
	autofree char **argv = NULL;
	autojson json_t *config = NULL;
	struct err e = ERR_INIT;
	struct start s;
	struct proc *p;
	uint64_t timeout_ms;

	if (call_timeout_ms(c, &timeout_ms) < 0 || get_start(c, msg, &s) < 0 || get_cwd(c, &s, &cwd) < 0)
		return;
	argv = argv_of(&s);
	config = config_of(&s);
	struct proc_spec spec = {
		.argv = argv,
		.envs = s.envs,
		.cwd = cwd,
		.tag = s.tag,
		.config = config,
		.user = &c->user,
		.users = &c->users,
		.want_stdin = s.want_stdin,
		.tty = s.pty != NULL,
		.cols = s.cols,
		.rows = s.rows,
		.timeout_ms = timeout_ms,
	};
	if (!argv || !config)
		call_fail(c, CONNECT_INTERNAL, "out of memory");
	else if (proc_start(c->in, &spec, &p, &e) < 0)
		fail_start(c, &s, &e);
	else
		show_started(c, p, argv[0]);
}

void process_connect(struct call *c, json_t *msg)
{
	uint64_t timeout_ms;
	struct proc *p;
	int rc;

	if (call_timeout_ms(c, &timeout_ms) < 0 || get_proc(c, msg, true, &p) < 0)
		return;
	rc = proc_attach(p, c, false, timeout_ms);
	if (rc == -EAGAIN)
		call_fail(c, CONNECT_RESOURCE_EXHAUSTED, "process %d has %d clients attached", (int)proc_pid(p),
		    PROC_CLIENTS_MAX);
	else if (rc < 0)
		call_fail(c, CONNECT_INTERNAL, "out of memory");
}

void process_list(struct call *c, json_t *msg)
{
	autojson json_t *reply = json_pack("{s:o}", "processes", procs_list(c->in));

	(void)msg;
	call_reply(c, reply);
}

void process_update(struct call *c, json_t *msg)
{
	struct err e = ERR_INIT;
	json_t *pty = NULL;
	uint16_t cols, rows;
	struct proc *p;
	int rc;

	if (get_proc(c, msg, false, &p) < 0)
		return;
	if (json_get_obj(msg, "pty", &pty, &e) < 0) {
		(void)bad(c, &e);
		return;
	}
	if (pty) {
		if (get_size(c, pty, &cols, &rows) < 0)
			return;
		rc = proc_resize(p, cols, rows);
		if (rc < 0) {
			call_fail(c, CONNECT_INTERNAL, "error resizing tty: %s",
			    rc == -ENOTTY ? "tty not assigned to process" : text_errno(-rc));
			return;
		}
	}
	call_reply_empty(c);
}

/* Signals. */

static void on_signalled(struct call *c, int rc)
{
	(void)rc;
	call_reply_empty(c);
}

/* An enum is given by name or by number. */
static int get_signal(struct call *c, const json_t *msg, int *ret)
{
	json_t *v = json_object_get(msg, "signal");
	const char *name = json_is_string(v) ? json_string_value(v) : "";
	json_int_t num = json_is_integer(v) ? json_integer_value(v) : 0;

	if (strcmp(name, "SIGNAL_SIGKILL") == 0 || num == SIGKILL) {
		*ret = SIGKILL;
	} else if (strcmp(name, "SIGNAL_SIGTERM") == 0 || num == SIGTERM) {
		*ret = SIGTERM;
	} else {
		call_fail(c, CONNECT_UNIMPLEMENTED, "invalid signal: %.100s", name[0] ? name : "SIGNAL_UNSPECIFIED");
		return -EINVAL;
	}
	return 0;
}

void process_send_signal(struct call *c, json_t *msg)
{
	struct proc *p;
	int signo, rc;

	if (get_proc(c, msg, false, &p) < 0 || get_signal(c, msg, &signo) < 0)
		return;
	rc = proc_signal(p, signo, c, on_signalled);
	if (rc < 0)
		call_fail(c, CONNECT_INTERNAL, "error sending signal: %s", text_errno(-rc));
}

/* Input. */

static void fail_input(struct call *c, bool tty, int rc)
{
	const char *where = tty ? "tty" : "stdin";

	if (rc == -ENOTTY)
		call_fail(c, CONNECT_INTERNAL,
		    "error writing to tty: tty not assigned to process — input should be written to "
		    "the stdin, not the tty");
	else if (rc == -EISCONN)
		call_fail(c, CONNECT_INTERNAL,
		    "error writing to stdin: tty assigned to process — input should be written to "
		    "the pty, not the stdin");
	else if (rc == -EBADF)
		call_fail(c, CONNECT_INTERNAL, "error writing to %s: stdin not enabled or closed", where);
	else if (rc == -ENOBUFS)
		call_fail(c, CONNECT_RESOURCE_EXHAUSTED, "error writing to %s: the process does not read its input",
		    where);
	else
		call_fail(c, CONNECT_INTERNAL, "error writing to %s: %s", where, text_errno(-rc));
}

static void on_written(struct call *c, int rc)
{
	if (rc < 0)
		fail_input(c, false, rc);
	else
		call_reply_empty(c);
}

/* Queues the input of a message with {"input":{"stdin"|"pty":base64}}. A message without input counts as empty
 * stdin. */
static void write_input(struct call *c, const json_t *msg, struct proc *p, void (*done)(struct call *c, int rc))
{
	autobuf struct buf data = BUF_INIT(CALL_BODY_MAX);
	const char *in = NULL, *tty = NULL, *text;
	struct err e = ERR_INIT;
	json_t *o = NULL;
	int rc;

	if (json_get_obj(msg, "input", &o, &e) < 0 || (o && json_get_str(o, "stdin", &in, &e) < 0) ||
	    (o && json_get_str(o, "pty", &tty, &e) < 0)) {
		(void)bad(c, &e);
		return;
	}
	text = tty ? tty : in ? in : "";
	if (base64_decode(str_of(text), &data) < 0 || data.bad) {
		call_fail(c, CONNECT_INVALID_ARGUMENT, "field 'input.%s' must be base64", tty ? "pty" : "stdin");
		return;
	}
	rc = proc_write(p, tty != NULL, buf_view(&data), c, done);
	if (rc < 0)
		fail_input(c, tty != NULL, rc);
}

void process_send_input(struct call *c, json_t *msg)
{
	struct proc *p;

	if (get_proc(c, msg, false, &p) == 0)
		write_input(c, msg, p, on_written);
}

void process_close_stdin(struct call *c, json_t *msg)
{
	struct proc *p;

	if (get_proc(c, msg, false, &p) < 0)
		return;
	if (proc_close_stdin(p) < 0)
		call_fail(c, CONNECT_UNKNOWN,
		    "error closing stdin: cannot close stdin for PTY process — send Ctrl+D (0x04) instead");
	else
		call_reply_empty(c);
}

/* StreamInput: the first message names the process. It is looked up again for each message, because it may have
 * ended. */

struct stream_input {
	struct proc_sel sel;
	char tag[TAG_MAX + 1];
};

static void on_streamed(struct call *c, int rc)
{
	if (rc < 0)
		fail_input(c, false, rc);
	else
		call_want(c, true);
}

static void stream_start(struct call *c, const json_t *start)
{
	struct stream_input *si;
	struct proc_sel sel;
	struct proc *p;

	if (get_proc(c, start, false, &p) < 0 || get_sel(c, start, &sel) < 0)
		return;
	si = calloc(1, sizeof(*si));
	if (!si) {
		call_fail(c, CONNECT_INTERNAL, "out of memory");
		return;
	}
	si->sel = sel;
	if (si->sel.tag) {
		(void)str_copy(si->tag, sizeof(si->tag), str_of(si->sel.tag)); /* fits: a process has it */
		si->sel.tag = si->tag;
	}
	free(c->stream);
	c->stream = si;
}

void process_stream_input(struct call *c, json_t *msg)
{
	struct stream_input *si = c->stream;
	struct err e = ERR_INIT;
	json_t *start = NULL, *data = NULL, *keepalive = NULL;
	struct proc *p;

	if (json_get_obj(msg, "start", &start, &e) < 0 || json_get_obj(msg, "data", &data, &e) < 0 ||
	    json_get_obj(msg, "keepalive", &keepalive, &e) < 0) {
		(void)bad(c, &e);
		return;
	}
	if (start) {
		stream_start(c, start);
	} else if (data) {
		p = si ? procs_find(c->in, &si->sel, false) : NULL;
		if (!p) {
			call_fail(c, CONNECT_NOT_FOUND,
			    si ? "the process has ended" : "the first message must hold 'start'");
			return;
		}
		call_want(c, false); /* until the process has read it */
		write_input(c, data, p, on_streamed);
	} else if (!keepalive) {
		call_fail(c, CONNECT_UNIMPLEMENTED, "message must hold 'start', 'data' or 'keepalive'");
	}
}

void process_stream_input_end(struct call *c)
{
	call_reply_empty(c);
}
