/* SPDX-License-Identifier: Apache-2.0 */
/* agent/mcp_http: MCP over streamable HTTP: POST, GET and DELETE of /mcp.
 *
 * A request of revision 2026-07-28 is self-contained, and its header fields must match its body. A request of an
 * earlier revision belongs to a session that initialize created. Simple requests are answered on the loop. Tools run on
 * threads, and answer with an event stream if the client asks for progress. */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "agent/mcp_http.h"
#include "agent/mcp_sessions.h"
#include "agent/request.h"
#include "agent/routes.h"
#include "agent/state.h"
#include "agent/tool_host.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/fd.h"
#include "http/json.h"
#include "loop/loop.h"
#include "mcp/fit.h"
#include "mcp/server.h"

#define ANSWER_MAX (64u * 1024 * 1024)
/* bytes of a response sent as an event: the Python SDK accepts one megabyte */
#define EVENT_MAX 1000000
#define BATCH_FIT (16u * 1024 * 1024) /* bytes of one response in a batch */
#define BATCH_MAX (32u * 1024 * 1024) /* bytes of responses, after which the rest of a batch is skipped */
#define EVENTS "text/event-stream"
#define EVENT_LINES "Cache-Control: no-cache\r\nX-Accel-Buffering: no\r\n"
#define ALIVE_MS 20000 /* interval of keep-alives on an idle stream */
#define AGENT_NAME_MAX 64
#define STAYS_EACH 64 /* streams per key, so that one key cannot use up all connections */

/* --- responses ----------------------------------------------------------------------------------------------- */

static void send_json(struct agent_request *rq, int status, const char *headers, json_t *j)
{
	autojson json_t *mine = j;
	autobuf struct buf out = BUF_INIT(ANSWER_MAX);

	json_put(&out, mine);
	if (out.bad || !mine)
		agent_request_error(rq, 500, "the response is too large");
	else
		agent_request_text(rq, status, "application/json", headers, buf_view(&out));
}

static void send_event(struct agent_request *rq, json_t *j)
{
	autojson json_t *mine = j;
	autobuf struct buf out = BUF_INIT(ANSWER_MAX);

	buf_z(&out, "event: message\ndata: ");
	json_put(&out, mine);
	buf_z(&out, "\n\n");
	if (!out.bad && mine)
		agent_request_write(rq, buf_view(&out));
}

static void mcp_http_refuse(struct agent_request *rq, int status, const json_t *id, int code, const char *message)
{
	send_json(rq, status, NULL, rpc_error(id, code, message, NULL));
}

/* --- streams that stay open ---------------------------------------------------------------------------------- */

struct stay {
	LIST_ENTRY(stay) link;
	struct agent_request *v;
};

static struct {
	LIST_HEAD(, stay) all; /* the loop's */
	struct timer *timer;
} stays = { .all = LIST_HEAD_INITIALIZER(stays.all) };

static void on_alive(void *user)
{
	struct stay *s;

	(void)user;
	LIST_FOREACH(s, &stays.all, link)
	agent_request_write(s->v, STR_LIT(":\n\n"));
	mcp_sessions_expire(clock_mono_ms());
	timer_arm(stays.timer, ALIVE_MS);
}

int mcp_http_open(struct loop *l, struct err *e)
{
	stays.timer = timer_new(l, on_alive, NULL);
	if (!stays.timer)
		return err_set(e, ENOMEM, "make a timer");
	timer_arm(stays.timer, ALIVE_MS);
	return 0;
}

/* Not all clients end their session (DELETE) before they disconnect. A session without a stream counts as disconnected.
 */
static void session_left(const struct agent_request *rq)
{
	char agent[AGENT_NAME_MAX + 8];
	const struct stay *s;

	LIST_FOREACH(s, &stays.all, link)
	{
		if (strcmp(s->v->session, rq->session) == 0 && strcmp(s->v->who.team, rq->who.team) == 0)
			return;
	}
	(void)snprintf(agent, sizeof agent, "mcp:%.60s", rq->session);
	state_disconnected(&rq->who, agent);
}

static void on_gone(struct agent_request *rq, void *user)
{
	struct stay *s = user;

	LIST_REMOVE(s, link);
	free(s);
	if (rq->session[0])
		session_left(rq);
}

static size_t stays_of(const struct caller *who)
{
	const struct stay *s;
	size_t n = 0;

	LIST_FOREACH(s, &stays.all, link)
	n += strcmp(s->v->who.team, who->team) == 0 && strcmp(s->v->who.key_id, who->key_id) == 0;
	return n;
}

/* Runs on the loop: only quick handlers call it. */
static void stay_open(struct agent_request *rq, json_t *first)
{
	if (stays_of(&rq->who) >= STAYS_EACH) {
		json_decref(first);
		agent_request_text(rq, 429, "application/json", "Retry-After: 1\r\n",
		    STR_LIT("{\"code\":429,\"message\":\"too many open streams for this key\"}"));
		return;
	}
	struct stay *s = calloc(1, sizeof *s);

	if (!s) {
		json_decref(first);
		agent_request_error(rq, 503, "out of memory");
		return;
	}
	s->v = rq;
	LIST_INSERT_HEAD(&stays.all, s, link);
	agent_request_begin(rq, 200, EVENTS, EVENT_LINES);
	agent_request_stay(rq, on_gone, s);
	if (first)
		send_event(rq, first);
	else
		agent_request_write(rq, STR_LIT(":\n\n"));
}

/* --- the headers of a request -------------------------------------------------------------------------------- */

static bool accepts(const struct agent_request *rq, const char *type)
{
	return !rq->accept[0] || strstr(rq->accept, type) || strstr(rq->accept, "*/*");
}

/* A value that is not allowed in a header field is encoded as "=?base64?...?=". */
static bool header_says(const char *header, const char *want)
{
	struct str h = str_of(header);
	autobuf struct buf raw = BUF_INIT(8192);

	if (str_starts(h, "=?base64?") && str_ends(h, "?=") && h.n >= 11) {
		if (base64_decode((struct str) { h.p + 9, h.n - 11 }, &raw) < 0 || raw.bad)
			return false;
		h = buf_view(&raw);
	}
	return str_is(h, want);
}

/* The error in the header fields of a self-contained request; NULL: none. */
static const char *header_mismatch(const struct agent_request *rq, const struct rpc_msg *m)
{
	const json_t *meta = json_object_get(m->params, "_meta");
	const char *version = json_string_value(json_object_get(meta, "io.modelcontextprotocol/protocolVersion"));
	const char *name = json_string_value(json_object_get(m->params, "name"));

	if (!rq->protocol[0])
		return "Header mismatch: header MCP-Protocol-Version is missing";
	if (version && strcmp(rq->protocol, version) != 0)
		return "Header mismatch: header MCP-Protocol-Version differs from the body";
	if (!rq->rpc_method[0])
		return "Header mismatch: header Mcp-Method is missing";
	if (!header_says(rq->rpc_method, m->method))
		return "Header mismatch: header Mcp-Method differs from the body";
	if (strcmp(m->method, "tools/call") != 0)
		return NULL;
	if (!rq->rpc_name[0])
		return "Header mismatch: header Mcp-Name is missing";
	return name && !header_says(rq->rpc_name, name) ? "Header mismatch: header Mcp-Name differs from the body"
							: NULL;
}

/* --- POST ---------------------------------------------------------------------------------------------------- */

struct post {         /* v->data */
	json_t *text; /* parsed; NULL: `error` is the response */
	json_t *error;
	struct mcp_session *session;
};

static void post_free(void *work)
{
	struct post *p = work;

	json_decref(p->text);
	json_decref(p->error);
	mcp_session_unref(p->session);
	free(p);
}

static bool is_call(json_t *j)
{
	const char *method = json_string_value(json_object_get(j, "method"));

	return method && strcmp(method, "tools/call") == 0;
}

bool mcp_post_quick(const struct agent_request *cv)
{
	struct agent_request *v = (struct agent_request *)(uintptr_t)cv; /* the parsed body is stored for the handler */
	struct post *p = calloc(1, sizeof *p);
	bool call = false;
	json_t *one;
	size_t i;

	if (!p)
		return true;
	v->data = p;
	v->data_free = post_free;
	p->text = rpc_parse(v->body, &p->error);
	if (json_is_object(p->text))
		call = is_call(p->text);
	json_array_foreach(p->text, i, one) call = call || is_call(one);
	return !call;
}

struct running {                /* user pointer of a tool's run */
	struct tool_request tv; /* first */
	struct mcp_flight *flight;
	bool events;
};

static bool is_stopped(void *user)
{
	struct running *run = user;

	return agent_request_gone(run->tv.v) || atomic_load(&run->flight->cancelled);
}

static void on_note(void *user, json_t *note)
{
	send_event(((struct running *)user)->tv.v, note);
}

/* Within a key, an agent is identified by the client name that it sends. */
static void agent_name(const struct rpc_msg *m, const struct mcp_session *s, char ret[AGENT_NAME_MAX + 8])
{
	const json_t *info = json_object_get(json_object_get(m->params, "_meta"), "io.modelcontextprotocol/clientInfo");
	const char *name = json_string_value(json_object_get(info, "name"));
	size_t n = 4;

	memcpy(ret, "mcp:", 4);
	for (const char *p = s ? mcp_session_id(s) : name ? name : "default"; *p && n < AGENT_NAME_MAX; p++)
		ret[n++] = (unsigned char)*p > 0x20 && (unsigned char)*p < 0x7f ? *p : '_';
	ret[n] = '\0';
}

static json_t *call_tool(struct agent_request *rq, struct mcp_session *s, const struct mcp_peer *peer,
    const struct rpc_msg *m, bool events)
{
	struct running run = { .tv = { .v = rq }, .flight = mcp_flight_new(s, m->id), .events = events };
	struct tool_run r = { .user = &run, .stopped = is_stopped };
	struct atoll_error e = { 0 };
	struct tool_host host;
	char agent[AGENT_NAME_MAX + 8];
	json_t *answer = NULL;

	agent_name(m, s, agent);
	r.agent = agent;
	if (run.flight && tool_host_for(rq, &host, &e) == 0) {
		r.host = &host;
		answer = mcp_call(peer, m, &r, events ? on_note : NULL);
	} else {
		answer = rpc_error(m->id, RPC_INTERNAL_ERROR, e.text[0] ? e.text : "out of memory", NULL);
	}
	if (run.flight)
		mcp_flight_free(s, run.flight);
	return answer;
}

static int status_of(const struct mcp_peer *peer, const json_t *answer)
{
	json_int_t code = json_integer_value(json_object_get(json_object_get(answer, "error"), "code"));

	if (!peer->modern)
		return 200;
	return code == RPC_METHOD_NOT_FOUND                                  ? 404
	    : code == RPC_UNSUPPORTED_VERSION || code == RPC_HEADER_MISMATCH ? 400
									     : 200;
}

static void begin_session(struct agent_request *rq, struct post *p, const struct mcp_peer *peer, json_t *answer)
{
	if (!json_object_get(answer, "result")) {
		send_json(rq, 200, NULL, answer);
		return;
	}
	p->session = mcp_session_new(&rq->who, peer);
	if (!p->session) {
		json_decref(answer);
		agent_request_error(rq, 503, "out of memory");
		return;
	}
	autofree char *line = str_fmt("Mcp-Session-Id: %s\r\n", mcp_session_id(p->session));

	send_json(rq, 200, line, answer);
}

/* A single message. */
static void take_one(struct agent_request *rq, struct post *p, struct mcp_peer *peer, const struct rpc_msg *m)
{
	bool events = mcp_wants_progress(m) && accepts(rq, EVENTS) && rq->accept[0];
	json_t *re = NULL;

	switch (mcp_take(peer, m, &re)) {
	case MCP_ANSWER:
		if (strcmp(m->method, "initialize") == 0 && !peer->modern)
			begin_session(rq, p, peer, re);
		else
			send_json(rq, status_of(peer, re), NULL, re);
		break;
	case MCP_CANCEL:
		if (p->session)
			mcp_session_cancel(p->session, re);
		agent_request_text(rq, 202, NULL, NULL, STR_NULL);
		break;
	case MCP_NOTHING:
		agent_request_text(rq, 202, NULL, NULL, STR_NULL);
		break;
	case MCP_LISTEN:
		stay_open(rq, re);
		break;
	case MCP_CALL:
		if (events)
			agent_request_begin(rq, 200, EVENTS, EVENT_LINES);
		re = call_tool(rq, p->session, peer, m, events);
		if (re)
			(void)mcp_fit(json_object_get(re, "result"), events ? EVENT_MAX : MCP_ANSWER_FIT);
		if (re && events)
			send_event(rq, re);
		else if (re)
			send_json(rq, 200, NULL, re);
		else /* cancelled: nothing is sent */
			agent_request_text(rq, 202, NULL, NULL, STR_NULL);
		break;
	}
}

/* A batch: the responses are one array. */
static void take_batch(struct agent_request *rq, struct post *p, struct mcp_peer *peer)
{
	json_t *answers = json_array(), *one;
	size_t i, size = 0;

	json_array_foreach(p->text, i, one)
	{
		json_t *re = NULL;
		struct rpc_msg m;

		if (!rpc_read(one, &m, &re)) {
			json_array_append_new(answers, re);
			continue;
		}
		if (m.method && strcmp(m.method, "initialize") == 0) {
			json_array_append_new(answers,
			    rpc_error(m.id, RPC_INVALID_REQUEST, "Invalid Request: initialize must not be in a batch",
				NULL));
			continue;
		}
		if (size > BATCH_MAX) {
			if (m.kind == RPC_REQUEST)
				json_array_append_new(answers,
				    rpc_error(m.id, RPC_INTERNAL_ERROR,
					"the responses of this batch are too large: this request was not run", NULL));
			continue;
		}
		switch (mcp_take(peer, &m, &re)) {
		case MCP_ANSWER:
			size += json_dumpb(re, NULL, 0, JSON_COMPACT | JSON_ENSURE_ASCII);
			json_array_append_new(answers, re);
			break;
		case MCP_CALL:
			re = call_tool(rq, p->session, peer, &m, false);
			if (re) {
				(void)mcp_fit(json_object_get(re, "result"), BATCH_FIT);
				size += json_dumpb(re, NULL, 0, JSON_COMPACT | JSON_ENSURE_ASCII);
				json_array_append_new(answers, re);
			}
			break;
		case MCP_CANCEL:
			mcp_session_cancel(p->session, re);
			break;
		case MCP_LISTEN:
			json_decref(re);
			break;
		case MCP_NOTHING:
			break;
		}
	}
	if (json_array_size(answers)) {
		send_json(rq, 200, NULL, answers);
		return;
	}
	json_decref(answers);
	agent_request_text(rq, 202, NULL, NULL, STR_NULL);
}

/* Finds the session of a request of an earlier revision. False: the request was refused. */
static bool find_session(struct agent_request *rq, struct post *p, const struct rpc_msg *m)
{
	if (!rq->session[0]) {
		mcp_http_refuse(rq, 400, m->id, RPC_INVALID_REQUEST,
		    "Bad Request: header Mcp-Session-Id is missing; send initialize first");
		return false;
	}
	p->session = mcp_session_find(&rq->who, rq->session);
	if (!p->session)
		mcp_http_refuse(rq, 404, m->id, RPC_INVALID_REQUEST, "Session not found: send initialize again");
	return p->session != NULL;
}

static void take_batches(struct agent_request *rq, struct post *p)
{
	struct rpc_msg none = { 0 };

	if (!find_session(rq, p, &none))
		return;
	struct mcp_peer peer = *mcp_session_peer(p->session);

	if (mcp_batches(&peer))
		take_batch(rq, p, &peer);
	else
		mcp_http_refuse(rq, 400, NULL, RPC_INVALID_REQUEST,
		    "Invalid Request: this protocol revision does not support batches");
}

void mcp_post(struct agent_request *rq)
{
	struct post *p = rq->data;
	struct mcp_peer peer = { .version = "" };
	struct rpc_msg m;

	if (!p || (!p->text && !p->error)) {
		agent_request_error(rq, 503, "out of memory");
		return;
	}
	if (rq->content_type[0] && !strstr(rq->content_type, "application/json")) {
		mcp_http_refuse(rq, 415, NULL, RPC_INVALID_REQUEST,
		    "Unsupported Media Type: Content-Type must be application/json");
		return;
	}
	if (!accepts(rq, "application/json")) {
		mcp_http_refuse(rq, 406, NULL, RPC_INVALID_REQUEST,
		    "Not Acceptable: Accept must include application/json and " EVENTS);
		return;
	}
	if (!p->text) {
		send_json(rq, 400, NULL, take_ptr(&p->error));
		return;
	}
	if (json_is_array(p->text)) {
		take_batches(rq, p);
		return;
	}
	if (!rpc_read(p->text, &m, &p->error)) {
		send_json(rq, 400, NULL, take_ptr(&p->error));
		return;
	}
	bool modern = m.kind == RPC_REQUEST && mcp_is_modern(&m);
	const char *bad = modern ? header_mismatch(rq, &m) : NULL;

	if (bad) {
		mcp_http_refuse(rq, 400, m.id, RPC_HEADER_MISMATCH, bad);
		return;
	}
	if (!modern && rq->protocol[0] && !mcp_knows_version(rq->protocol)) {
		send_json(rq, 400, NULL,
		    rpc_error(m.id, RPC_UNSUPPORTED_VERSION, "Unsupported protocol version",
			json_pack("{s:[s,s],s:s}", "supported", MCP_LATEST, MCP_LATEST_LEGACY, "requested",
			    rq->protocol)));
		return;
	}
	bool begins = m.method && strcmp(m.method, "initialize") == 0;
	bool stands_alone = modern || begins || (m.kind != RPC_REQUEST && !rq->session[0]);

	if (!stands_alone && !find_session(rq, p, &m))
		return;
	if (p->session)
		peer = *mcp_session_peer(p->session);
	take_one(rq, p, &peer, &m);
}

/* --- GET and DELETE, for revisions with sessions ---------------------------------------------------------------- */

bool mcp_get_quick(const struct agent_request *rq)
{
	(void)rq;
	return true;
}

void mcp_get(struct agent_request *rq)
{
	struct mcp_session *s = rq->session[0] ? mcp_session_find(&rq->who, rq->session) : NULL;

	if (!rq->session[0])
		agent_request_text(rq, 405, "application/json", "Allow: POST\r\n",
		    STR_LIT("{\"code\":405,\"message\":\"GET requires the header Mcp-Session-Id\"}"));
	else if (!s)
		mcp_http_refuse(rq, 404, NULL, RPC_INVALID_REQUEST, "Session not found: send initialize again");
	else if (!rq->accept[0] || !accepts(rq, EVENTS))
		mcp_http_refuse(rq, 406, NULL, RPC_INVALID_REQUEST, "Not Acceptable: Accept must include " EVENTS);
	else
		stay_open(rq, NULL);
	mcp_session_unref(s);
}

void mcp_delete(struct agent_request *rq)
{
	struct atoll_error e;
	struct sandbox_cache *b = agent_request_cache(rq, &e);
	char agent[AGENT_NAME_MAX + 8], id[SESSION_ID_SIZE];
	struct mcp_session *s = rq->session[0] ? mcp_session_find(&rq->who, rq->session) : NULL;
	struct rpc_msg none = { 0 };

	if (!s || !b) {
		mcp_http_refuse(rq, rq->session[0] ? 404 : 400, NULL, RPC_INVALID_REQUEST,
		    rq->session[0] ? "Session not found" : "Bad Request: header Mcp-Session-Id is missing");
	} else {
		agent_name(&none, s, agent);
		(void)mcp_session_end(&rq->who, rq->session);
		(void)sandbox_cache_session_end(b, agent, NULL, id, &e);
		agent_request_text(rq, 200, NULL, NULL, STR_NULL);
	}
	mcp_session_unref(s);
}
