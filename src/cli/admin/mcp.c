/* SPDX-License-Identifier: Apache-2.0 */
/* atoll mcp: an MCP server on standard input and output, for clients that start their tools as child processes.
 *
 * The main thread reads one message per line and answers everything but tool calls itself. Each tool call runs in its
 * own thread, so that it can be cancelled and a slow call does not delay others. Output is one message per line, too.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/str.h"
#include "cli/cli.h"
#include "cli/settings.h"
#include "cli/template/template.h"
#include "client/atoll.h"
#include "http/json.h"
#include "mcp/server.h"

#define LINE_MAX_BYTES (32u * 1024 * 1024)
#define OUT_MAX (96u * 1024 * 1024)
#define CALLS_MAX 64
#define STACK_BYTES (512 * 1024)
#define LEAVE_S 5 /* how long leave() waits for cancelled calls */

struct server {
	struct tool_host host;
	struct mcp_peer peer; /* used by revisions that begin with initialize; main thread only */
	pthread_mutex_t out, lock;
	pthread_cond_t fewer;
	struct call *calls; /* in progress; protected by lock */
	unsigned n_calls;
};

struct call {
	struct call *next, **prev;
	struct server *s;
	struct mcp_peer peer;
	json_t *text; /* owns the JSON that msg points to */
	struct rpc_msg msg;
	const struct tool_run *run;
	atomic_bool cancelled;
};

static atomic_bool closing;

/* --- output -------------------------------------------------------------------------------------------------- */

static void send_line(struct server *s, json_t *j)
{
	autojson json_t *mine = j;
	autobuf struct buf out = BUF_INIT(OUT_MAX);

	json_put(&out, mine);
	buf_ch(&out, '\n');
	if (!mine || out.bad)
		return;
	(void)pthread_mutex_lock(&s->out);
	if (fd_write_all(STDOUT_FILENO, out.p, out.n) < 0)
		atomic_store(&closing, true);
	(void)pthread_mutex_unlock(&s->out);
}

/* --- calls --------------------------------------------------------------------------------------------------- */

static bool is_stopped(void *user)
{
	struct call *c = user;

	return atomic_load(&closing) || atomic_load(&c->cancelled);
}

static void on_note(void *user, json_t *note)
{
	struct call *c = user;

	if (is_stopped(c))
		json_decref(note);
	else
		send_line(c->s, note);
}

static void call_end(struct call *c)
{
	struct server *s = c->s;

	(void)pthread_mutex_lock(&s->lock);
	*c->prev = c->next;
	if (c->next)
		c->next->prev = c->prev;
	s->n_calls--;
	(void)pthread_cond_broadcast(&s->fewer);
	(void)pthread_mutex_unlock(&s->lock);
	json_decref(c->text);
	free(c);
}

static void *call_main(void *arg)
{
	struct call *c = arg;
	struct tool_run r = { .host = &c->s->host, .agent = "mcp:stdio", .stopped = is_stopped, .user = c };
	c->run = &r;
	json_t *answer = mcp_call(&c->peer, &c->msg, &r, on_note);

	if (answer)
		send_line(c->s, answer);
	call_end(c);
	return NULL;
}

/* Takes ownership of text. If CALLS_MAX threads are running, waits for one to end; no input is read meanwhile. */
static void call_begin(struct server *s, const struct mcp_peer *peer, json_t *text, const struct rpc_msg *m)
{
	struct call *c = calloc(1, sizeof *c);
	pthread_attr_t attr;
	pthread_t t;

	if (!c) {
		json_decref(text);
		return;
	}
	*c = (struct call) { .s = s, .peer = *peer, .text = text, .msg = *m };
	(void)pthread_mutex_lock(&s->lock);
	while (s->n_calls >= CALLS_MAX)
		(void)pthread_cond_wait(&s->fewer, &s->lock);
	s->n_calls++;
	c->next = s->calls;
	c->prev = &s->calls;
	if (c->next)
		c->next->prev = &c->next;
	s->calls = c;
	(void)pthread_mutex_unlock(&s->lock);
	(void)pthread_attr_init(&attr);
	(void)pthread_attr_setstacksize(&attr, STACK_BYTES);
	(void)pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	if (pthread_create(&t, &attr, call_main, c) != 0)
		(void)call_main(c);
	(void)pthread_attr_destroy(&attr);
}

static void cancel(struct server *s, const json_t *id)
{
	(void)pthread_mutex_lock(&s->lock);
	for (struct call *c = s->calls; c; c = c->next) {
		if (json_equal(c->msg.id, id))
			atomic_store(&c->cancelled, true);
	}
	(void)pthread_mutex_unlock(&s->lock);
}

/* --- input --------------------------------------------------------------------------------------------------- */

/* Handles one message. Borrows j. */
static void take_message(struct server *s, json_t *j)
{
	struct mcp_peer peer = s->peer;
	struct rpc_msg m;
	json_t *re = NULL;

	if (!rpc_read(j, &m, &re)) {
		send_line(s, re);
		return;
	}
	switch (mcp_take(&peer, &m, &re)) {
	case MCP_ANSWER:
		if (!peer.modern)
			s->peer = peer; /* initialize may have set its version */
		send_line(s, re);
		break;
	case MCP_LISTEN:
		send_line(s, re);
		break;
	case MCP_CALL:
		call_begin(s, &peer, json_incref(j), &m);
		break;
	case MCP_CANCEL:
		cancel(s, re);
		break;
	case MCP_NOTHING:
		break;
	}
}

static void take_line(struct server *s, struct str line)
{
	json_t *error = NULL, *one;
	size_t i;

	line = str_trim(line);
	if (line.n > 0 && line.p[line.n - 1] == '\r')
		line.n--;
	if (line.n == 0)
		return;
	autojson json_t *j = rpc_parse(line, &error);

	if (!j) {
		send_line(s, error);
	} else if (json_is_object(j)) {
		take_message(s, j);
	} else if (!mcp_batches(&s->peer)) {
		send_line(s,
		    rpc_error(NULL, RPC_INVALID_REQUEST,
			"Invalid Request: this protocol revision does not support batches", NULL));
	} else {
		/* On a stream of lines, the responses to a batch need not form an array. */
		json_array_foreach(j, i, one) take_message(s, one);
	}
}

/* Handles all complete lines. A line that exceeds LINE_MAX_BYTES is refused, and the rest of it is discarded. */
static void take_bytes(struct server *s, struct buf *in, bool *skipping)
{
	char *end;

	while (in->n > 0 && (end = memchr(in->p, '\n', in->n))) {
		size_t n = (size_t)(end - in->p);

		if (!*skipping)
			take_line(s, (struct str) { in->p, n });
		*skipping = false;
		buf_consume(in, n + 1);
	}
	if (in->n < LINE_MAX_BYTES)
		return;
	if (!*skipping)
		send_line(s, rpc_error(NULL, RPC_PARSE_ERROR, "Parse error: a message is too long", NULL));
	*skipping = true;
	buf_clear(in);
}

static volatile sig_atomic_t signalled;

static void on_signal(int signo)
{
	signalled = signo;
}

static void serve(struct server *s)
{
	autobuf struct buf in = BUF_INIT(LINE_MAX_BYTES + 65536);
	struct pollfd pf = { .fd = STDIN_FILENO, .events = POLLIN };
	bool skipping = false;

	while (!signalled && !atomic_load(&closing)) {
		if (poll(&pf, 1, 1000) <= 0)
			continue;
		char *room = buf_room(&in, 65536);
		ssize_t n = room ? read(STDIN_FILENO, room, 65536) : 0;

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return;
		in.n += (size_t)n;
		take_bytes(s, &in, &skipping);
	}
}

/* Cancels the calls in progress, then ends the session unless keep is set. */
static void leave(struct server *s, bool keep)
{
	struct timespec until;
	char id[SESSION_ID_SIZE];
	struct atoll_error e;

	atomic_store(&closing, true);
	(void)clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += LEAVE_S;
	(void)pthread_mutex_lock(&s->lock);
	while (s->n_calls > 0 && pthread_cond_timedwait(&s->fewer, &s->lock, &until) == 0)
		;
	(void)pthread_mutex_unlock(&s->lock);
	atomic_store(&closing, false); /* otherwise the call below would be cancelled, too */
	if (!keep)
		(void)sandbox_cache_session_end(s->host.cache, "mcp:stdio", NULL, id, &e);
}

/* --- audit records ------------------------------------------------------------------------------------------- */

static bool is_away(int no)
{
	return no == ECONNREFUSED || no == ECONNRESET || no == EPIPE || no == EHOSTUNREACH || no == EHOSTDOWN ||
	    no == ENOTCONN;
}

/* Adds a record to the server's audit trail, unless the server was unreachable. Other servers of the E2B API lack
 * this route; after the first 404 or 405 no more records are sent. */
static void on_audit(void *user, const char *kind, const char *sandbox, const char *session, json_t *fields)
{
	static atomic_bool unknown;
	struct call *c = user;
	autojson json_t *j = json_pack("{s:s,s:s*,s:s*}", "kind", kind, "sandbox", sandbox, "session",
	    session && *session ? session : NULL);
	struct atoll_error e = { 0 };

	(void)json_object_del(fields, "reason"); /* implied by the rule */
	(void)json_object_update_new(j, fields);
	autofree char *body = j ? json_dumps(j, JSON_COMPACT) : NULL;

	if (body && !is_away(c->run->no) && !atomic_load(&unknown) &&
	    sandbox_cache_report(c->s->host.cache, body, &e) < 0 && (e.status == 404 || e.status == 405))
		atomic_store(&unknown, true);
}

/* --- the verb ------------------------------------------------------------------------------------------------ */

static int set_up(struct server *s, const struct settings *set, const char *policy_file, struct err *e)
{
	struct atoll_config cfg = { .api_url = set->api_url, .sandbox_url = set->sandbox_url, .api_key = set->api_key };
	static struct atoll_retry retry; /* must live as long as the server; there is one per process */
	struct atoll_sessions_config sc = { .environment = template_default(), .retry = &retry };
	struct atoll_sessions *sessions;
	struct atoll_policy *policy;
	struct atoll_error ae;
	struct atoll *a;

	if (atoll_retry_env(&retry, &ae) < 0 || atoll_policy_new(&policy, &ae) < 0 ||
	    (policy_file && atoll_policy_load(policy, policy_file, &ae) < 0) ||
	    atoll_sessions_new(&sc, &sessions, &ae) < 0 || atoll_breaker_new(NULL, &s->host.breaker, &ae) < 0 ||
	    atoll_new(&cfg, &a, &ae) < 0)
		return err_set(e, ae.no, "%s", ae.text);
	atoll_set_stop(a, tool_stopping, NULL);
	s->host.cache = sandbox_cache_new(a, sessions, "stdio");
	s->host.policy = policy;
	s->host.url = set->api_url;
	s->host.audit = on_audit;
	s->host.environment = sc.environment;
	s->host.timeout_ms = retry.timeout_ms;
	s->host.retry = &retry;
	return s->host.cache ? tools_open(e) : err_set(e, ENOMEM, "out of memory");
}

static int run(const struct verb *v, int argc, char **argv)
{
	static struct server s = { .out = PTHREAD_MUTEX_INITIALIZER,
		.lock = PTHREAD_MUTEX_INITIALIZER,
		.fewer = PTHREAD_COND_INITIALIZER };
	struct settings_opts conn = { NULL };
	bool keep = false, no_redact = false;
	const char *policy = NULL;
	const struct opt opts[] = { SETTINGS_OPTS(&conn), { "keep", 0, OPT_FLAG, &keep },
		{ "no-redact", 0, OPT_FLAG, &no_redact }, { "policy", 0, OPT_STR, &policy } };
	autosettings struct settings set = { NULL, NULL, NULL };
	struct sigaction sa = { .sa_handler = on_signal };
	struct err e = ERR_INIT;
	int n, rc = verb_operands(v, opts, ARRAY_LEN(opts), OPERANDS_NONE, argc, argv, &n);

	if (rc >= 0)
		return rc;
	if (settings_load(&conn, &set, &e) < 0 || set_up(&s, &set, policy, &e) < 0)
		return fail("%s", e.text);
	s.host.redact = !no_redact;
	(void)sigaction(SIGTERM, &sa, NULL);
	(void)sigaction(SIGINT, &sa, NULL);
	(void)signal(SIGPIPE, SIG_IGN);
	serve(&s);
	leave(&s, keep);
	return 0;
}

const struct verb verb_mcp = {
	.name = "mcp",
	.summary = "Serve the agent tools on standard input and output (Model Context Protocol)",
	.synopsis = "[--keep] [--no-redact] [--policy FILE] " SETTINGS_SYNOPSIS,
	.help = "  --keep         let the session's sandbox run until its timeout instead of killing it\n"
		"  --no-redact    do not redact text that looks like a token or password\n"
		"  --policy FILE  policy for commands and code, see atoll-policy(5)\n"
		"\n"
		"Environment: E2B_TEMPLATE_ID, the template of the session's sandbox; E2B_TIMEOUT, the\n"
		"default timeout of code and commands in milliseconds (30000); E2B_MAX_RETRIES (3).\n"
		"\n" SETTINGS_HELP,
	.run = run,
};
