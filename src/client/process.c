/* SPDX-License-Identifier: Apache-2.0 */
/* client/process: a command in a sandbox: its event stream and its input.
 *
 * The stream is one long POST. Each piece of input is a separate POST, one at a time. Both use one multi handle,
 * because they must progress concurrently: otherwise, a program that fills its output while we send its input would
 * wait for us to read, and we would wait for it. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/fd.h"
#include "client/client.h"
#include "client/command.h"
#include "client/event.h"
#include "http/connect.h"
#include "http/json.h"

#define PIECE_MAX (ENVELOPE_MAX + ENVELOPE_HEAD)

enum input_state { INPUT_IDLE, INPUT_SENDING, INPUT_CLOSING, INPUT_SHUT };

struct request { /* one POST; owns the strings that curl uses */
	CURL *h;
	struct call c; /* headers and, for errors, the response */
	char *url;
	struct buf body;
	struct atoll_process *p;
};

struct atoll_process {
	struct atoll_sandbox *sb;
	char *user; /* NULL: the template's user */
	CURLM *multi;
	struct request stream, input;
	atoll_sink *sink;
	void *sink_user;
	struct buf in;   /* an incomplete envelope of the stream */
	struct buf data; /* decoded output of one event */
	int64_t pid;
	bool ended, closed; /* ended: the end event was received; closed: the stream is over */
	struct atoll_exit exit;
	enum input_state input_state;
	bool close_wanted;
	bool tty;
	int failed; /* negative errno value; details in error */
	struct atoll_error error;
};

/* --- requests --- */

static int request_init(struct request *r, struct atoll_process *p, const char *path, const char *type)
{
	*r = (struct request) {
		.h = curl_easy_init(),
		.c = CALL_INIT("POST", "", ""),
		.body = BUF_INIT(PIECE_MAX),
		.p = p,
		.url = str_fmt("%s%s", p->sb->envd_url, path),
	};
	if (!r->h || !r->url || call_header(&r->c, "Content-Type: %s", type) < 0 || call_header(&r->c, "Expect:") < 0 ||
	    call_header(&r->c, "Connect-Protocol-Version: 1") < 0 || call_header_sandbox(&r->c, p->sb, ENVD_PORT) < 0 ||
	    call_header_user(&r->c, p->user) < 0)
		return -ENOMEM;
	return 0;
}

static void request_done(struct request *r)
{
	if (r->p && r->p->multi && r->h)
		curl_multi_remove_handle(r->p->multi, r->h);
	curl_easy_cleanup(r->h);
	call_done(&r->c);
	buf_done(&r->body);
	free(r->url);
	*r = (struct request) { .h = NULL };
}

static int request_go(struct request *r, curl_write_callback on_bytes)
{
	client_setup_handle(r->p->sb->a, r->h, r->url);
	curl_easy_setopt(r->h, CURLOPT_HTTPHEADER, r->c.headers);
	curl_easy_setopt(r->h, CURLOPT_POST, 1L);
	curl_easy_setopt(r->h, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)r->body.n);
	curl_easy_setopt(r->h, CURLOPT_POSTFIELDS, r->body.p);
	curl_easy_setopt(r->h, CURLOPT_WRITEFUNCTION, on_bytes);
	curl_easy_setopt(r->h, CURLOPT_WRITEDATA, r);
	return curl_multi_add_handle(r->p->multi, r->h) == CURLM_OK ? 0 : -ENOMEM;
}

static size_t keep_answer(char *p, size_t size, size_t n, void *user)
{
	struct request *r = user;

	buf_put(&r->c.answer, p, size * n);
	return size * n; /* the rest of a long response is ignored; this is not an error */
}

/* --- the stream --- */

static int handle_event(struct atoll_process *p, const struct event *ev)
{
	switch (ev->kind) {
	case EVENT_START:
		p->pid = ev->pid;
		break;
	case EVENT_DATA:
		if (p->sink && p->sink(p->sink_user, ev->stream, p->data.p, p->data.n) != 0)
			return client_fail(&p->error, ECANCELED, 0, "interrupted");
		break;
	case EVENT_END:
		p->exit = ev->exit;
		p->ended = true;
		break;
	case EVENT_CLOSE:
		p->closed = true;
		break;
	case EVENT_ERROR:
		return client_fail(&p->error, event_errno(ev), 0, "%s", ev->message);
	case EVENT_WATCHING:
	case EVENT_CHANGE:
	case EVENT_OTHER:
		break;
	}
	return 0;
}

static size_t on_stream(char *bytes, size_t size, size_t n, void *user)
{
	struct request *r = user;
	struct atoll_process *p = r->p;
	struct envelope env;
	struct event ev;
	long status = 0;
	int rc;

	curl_easy_getinfo(r->h, CURLINFO_RESPONSE_CODE, &status);
	r->c.status = (int)status;
	r->c.log.received += size * n;
	if (status != 200)
		return keep_answer(bytes, size, n, user);
	buf_put(&p->in, bytes, size * n);
	struct str in = buf_view(&p->in);
	while ((rc = p->in.bad ? -EBADMSG : envelope_parse(&in, &env)) == 1) {
		if (event_parse(&env, &ev, &p->data) < 0) {
			rc = -EBADMSG;
			break;
		}
		if (handle_event(p, &ev) < 0) {
			p->failed = -p->error.no;
			return 0;
		}
	}
	if (rc < 0) {
		p->failed = client_fail(&p->error, EPROTO, 200, "the command's stream is malformed");
		return 0;
	}
	buf_consume(&p->in, p->in.n - in.n);
	return size * n;
}

static int stream_result(struct atoll_process *p, CURLcode rc, struct atoll_error *e)
{
	long status = 0;

	curl_easy_getinfo(p->stream.h, CURLINFO_RESPONSE_CODE, &status);
	if (p->failed < 0) {
		*e = p->error;
		return p->failed;
	}
	if (p->ended)
		return 1;
	if (status == 0 || rc == CURLE_ABORTED_BY_CALLBACK)
		return client_curl_failed(e, rc, p->sb->envd_url);
	if (status == 502)
		return client_fail(e, ESRCH, 502, "sandbox '%s' has ended or is paused", p->sb->id);
	if (status != 200)
		return client_refused(e, (int)status, buf_view(&p->stream.c.answer));
	return client_broke(p->sb, "the command ended", e);
}

static int stream_done(struct atoll_process *p, CURLcode rc, struct atoll_error *e)
{
	int r = stream_result(p, rc, e);

	if (r < 0)
		client_redact(e, p->sb->a, p->sb->token);
	p->stream.c.log.end_us = clock_mono_us();
	p->stream.c.log.failed = r < 0 ? -r : 0;
	return r;
}

/* --- input --- */

/* Writes {"process":{"pid":N}} with the action. */
static int put_selector(struct atoll_process *p, struct buf *out, const char *key, json_t *value)
{
	autojson json_t *j = json_pack("{s:{s:I}}", "process", "pid", (json_int_t)p->pid);

	if (key && json_object_set_new(j, key, value) < 0)
		return -ENOMEM;
	if (!j)
		return -ENOMEM;
	json_put(out, j);
	return out->bad ? -ENOMEM : 0;
}

static int input_go(struct atoll_process *p, const char *path, const char *key, json_t *value)
{
	request_done(&p->input);
	int rc = request_init(&p->input, p, path, "application/json");

	if (rc < 0) {
		json_decref(value);
		return rc;
	}
	rc = put_selector(p, &p->input.body, key, value);
	return rc < 0 ? rc : request_go(&p->input, keep_answer);
}

static void input_close_now(struct atoll_process *p)
{
	p->close_wanted = false;
	p->input_state = input_go(p, "/process.Process/CloseStdin", NULL, NULL) < 0 ? INPUT_SHUT : INPUT_CLOSING;
}

static void input_finished(struct atoll_process *p, CURLcode rc)
{
	long status = 0;

	curl_easy_getinfo(p->input.h, CURLINFO_RESPONSE_CODE, &status);
	curl_multi_remove_handle(p->multi, p->input.h);
	/* A program may close its input or exit before it has read everything. This is not a failure of the command. */
	if (rc != CURLE_OK || status != 200 || p->input_state == INPUT_CLOSING)
		p->input_state = INPUT_SHUT;
	else
		p->input_state = INPUT_IDLE;
}

bool atoll_process_can_send(const struct atoll_process *p)
{
	return p && p->input_state == INPUT_IDLE && p->pid > 0 && !p->ended && !p->close_wanted;
}

int atoll_process_send(struct atoll_process *p, const void *data, size_t n)
{
	autobuf struct buf b64 = BUF_INIT(2 * ATOLL_INPUT_MAX);

	if (!p || (!data && n > 0))
		return -EINVAL;
	if (p->input_state == INPUT_SHUT || p->ended || p->close_wanted)
		return -EPIPE;
	if (!atoll_process_can_send(p))
		return -EAGAIN;
	if (n > ATOLL_INPUT_MAX)
		return -EMSGSIZE;
	base64_encode(&b64, (struct str) { data, n }, true);
	if (b64.bad)
		return -ENOMEM;
	int rc = input_go(p, "/process.Process/SendInput", "input",
	    json_pack("{s:s%}", p->tty ? "pty" : "stdin", b64.n ? b64.p : "", b64.n));
	if (rc == 0)
		p->input_state = INPUT_SENDING;
	return rc;
}

int atoll_process_close_stdin(struct atoll_process *p)
{
	if (!p)
		return -EINVAL;
	if (p->tty)
		return -ENOTTY;
	if (p->input_state == INPUT_SHUT || p->input_state == INPUT_CLOSING)
		return 0;
	p->close_wanted = true;
	return 0;
}

/* --- starting, polling and freeing --- */

struct opening { /* how to open the stream */
	const char *path, *as_user;
	unsigned timeout_ms; /* 0: no timeout */
	bool tty, with_stdin, is_new;
};

static int process_open(struct atoll_process *p, const struct opening *o, const json_t *message, struct atoll_error *e)
{
	autobuf struct buf text = BUF_INIT(ENVELOPE_MAX);

	json_put(&text, message);
	if (text.bad)
		return client_fail(e, E2BIG, 0, "the command is too long");
	p->multi = curl_multi_init();
	if (!p->multi || request_init(&p->stream, p, o->path, "application/connect+json") < 0)
		return client_no_memory(e);
	if (o->timeout_ms > 0 && call_header(&p->stream.c, "Connect-Timeout-Ms: %u", o->timeout_ms) < 0)
		return client_no_memory(e);
	envelope_put(&p->stream.body, 0, buf_view(&text));
	p->stream.c.log = (struct call_log) {
		.a = p->sb->a,
		.op = o->is_new ? "start_process" : "connect_process",
		.sandbox = p->sb->id,
		.begin_us = clock_mono_us(),
		.sent = text.n,
		.failed = ECANCELED, /* unless the end is received */
	};
	if (p->stream.body.bad || request_go(&p->stream, on_stream) < 0)
		return client_no_memory(e);
	return 0;
}

static int process_new(struct atoll_sandbox *sb, const struct opening *o, const json_t *message, atoll_sink *sink,
    void *user, struct atoll_process **ret, struct atoll_error *e)
{
	struct atoll_process *p = calloc(1, sizeof(*p));

	if (!p)
		return client_no_memory(e);
	p->sb = sb;
	p->sink = sink;
	p->sink_user = user;
	p->in = BUF_INIT(2 * PIECE_MAX);
	p->data = BUF_INIT(ENVELOPE_MAX);
	p->tty = o->tty;
	p->input_state = o->with_stdin || p->tty ? INPUT_IDLE : INPUT_SHUT;
	p->user = o->as_user ? str_dup(str_of(o->as_user)) : NULL;
	int rc = o->as_user && !p->user ? client_no_memory(e) : process_open(p, o, message, e);

	if (rc < 0) {
		atoll_process_free(p);
		return rc;
	}
	*ret = p;
	return 0;
}

int atoll_process_start(struct atoll_sandbox *sb, const struct atoll_command *given, atoll_sink *sink, void *user,
    struct atoll_process **ret, struct atoll_error *e)
{
	NEED(e, sb && given && ret);
	struct atoll_command cmd;

	if (TAKE_IN(&cmd, given, e) < 0)
		return -e->no;
	autojson json_t *message = command_message(&cmd, e);
	if (!message)
		return -e->no;
	const struct opening o = {
		.path = "/process.Process/Start",
		.as_user = cmd.as_user,
		.tty = command_is_tty(&cmd),
		.with_stdin = cmd.with_stdin,
		.is_new = true,
		.timeout_ms = cmd.timeout_ms == ATOLL_NO_TIMEOUT ? 0 : cmd.timeout_ms,
	};
	return process_new(sb, &o, message, sink, user, ret, e);
}

int atoll_process_connect(struct atoll_sandbox *sb, int64_t pid, bool is_tty, atoll_sink *sink, void *user,
    struct atoll_process **ret, struct atoll_error *e)
{
	NEED(e, sb && ret);
	if (pid <= 0)
		return client_fail(e, EINVAL, 0, "%lld is not a process ID", (long long)pid);
	const struct opening o = { .path = "/process.Process/Connect", .tty = is_tty, .with_stdin = true };
	autojson json_t *message = json_pack("{s:{s:I}}", "process", "pid", (json_int_t)pid);

	return process_new(sb, &o, message, sink, user, ret, e);
}

/* Advances the transfers without blocking. Returns the stream's result if it is complete, else 0. */
static int drive(struct atoll_process *p, struct atoll_error *e)
{
	CURLMsg *m;
	int left, rc = 0;

	if (curl_multi_perform(p->multi, &left) != CURLM_OK)
		return client_fail(e, EIO, 0, "drive the connection to %s", p->sb->envd_url);
	while ((m = curl_multi_info_read(p->multi, &left))) {
		if (m->msg != CURLMSG_DONE)
			continue;
		if (m->easy_handle == p->stream.h)
			rc = stream_done(p, m->data.result, e);
		else
			input_finished(p, m->data.result);
	}
	return rc;
}

static bool can_close(const struct atoll_process *p)
{
	return p->close_wanted && p->input_state == INPUT_IDLE && p->pid > 0;
}

int atoll_process_poll(struct atoll_process *p, struct pollfd *fds, size_t n_fds, int timeout_ms, struct atoll_error *e)
{
	NEED(e, p && (fds || n_fds == 0));
	if (n_fds > EXTRA_FDS_MAX)
		return client_fail(e, EINVAL, 0, "more than %d fds to wait for", EXTRA_FDS_MAX);
	if (can_close(p))
		input_close_now(p);
	bool could_send = atoll_process_can_send(p);
	int rc = drive(p, e);
	if (rc != 0)
		return rc;
	/* The caller chose fds before this call. If input can be sent now, return at once so that it can choose
	 * again. */
	if (atoll_process_can_send(p) != could_send || can_close(p))
		timeout_ms = 0;
	if (multi_wait(p->multi, fds, n_fds, timeout_ms) < 0)
		return client_fail(e, EIO, 0, "wait for %s", p->sb->envd_url);
	return drive(p, e);
}

const struct atoll_exit *atoll_process_exit(const struct atoll_process *p)
{
	return p && p->ended ? &p->exit : NULL;
}

int64_t atoll_process_pid(const struct atoll_process *p)
{
	return p ? p->pid : 0;
}

/* Sends a short request about the process. */
static int tell(struct atoll_process *p, const char *path, const char *key, json_t *value, struct atoll_error *e)
{
	autojson json_t *body = json_pack("{s:{s:I},s:o}", "process", "pid", (json_int_t)p->pid, key, value);

	return rpc_call(p->sb, p->user, path, body, NULL, e);
}

int atoll_process_signal(struct atoll_process *p, int sig, struct atoll_error *e)
{
	NEED(e, p);
	if (sig != SIGKILL && sig != SIGTERM)
		return client_fail(e, EINVAL, 0, "only SIGKILL and SIGTERM can be sent");
	if (p->pid <= 0)
		return client_fail(e, ESRCH, 0, "the command has not started");
	return tell(p, "/process.Process/SendSignal", "signal",
	    json_string(sig == SIGKILL ? "SIGNAL_SIGKILL" : "SIGNAL_SIGTERM"), e);
}

int atoll_process_resize(struct atoll_process *p, unsigned cols, unsigned rows, struct atoll_error *e)
{
	NEED(e, p);
	if (!p->tty || cols == 0 || rows == 0)
		return client_fail(e, EINVAL, 0, "the command has no terminal, or the size is invalid");
	if (p->pid <= 0)
		return client_fail(e, ESRCH, 0, "the command has not started");
	return tell(p, "/process.Process/Update", "pty", command_size(cols, rows), e);
}

void atoll_process_free(struct atoll_process *p)
{
	if (!p)
		return;
	request_done(&p->input);
	request_done(&p->stream);
	curl_multi_cleanup(p->multi);
	buf_done(&p->in);
	buf_done(&p->data);
	free(p->user);
	free(p);
}

void atoll_process_close(struct atoll_process **p)
{
	if (p)
		atoll_process_free(take_ptr(p));
}
