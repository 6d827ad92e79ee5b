/* SPDX-License-Identifier: Apache-2.0 */
/* agent/request: the loop owns the HTTP request, a thread runs the handler; a reference count ends what they share. */
#include "agent/request.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/clients.h"
#include "agent/link.h"
#include "agent/routes.h"
#include "agent/worker.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "client/atoll.h"
#include "http/json.h"
#include "http/server.h"
#include "http/url.h"
#include "mcp/sandbox_cache.h"
#include "mcp/tools.h"

#define PARAM_MAX 512
#define ANSWER_MAX (64u * 1024 * 1024)
#define UNSENT_MAX (1024 * 1024) /* of a streamed response; above it the handler waits */

struct own { /* a request with its private part */
	struct agent_request pub;
	const struct route *route;
	struct http_req *rq; /* the loop's; NULL: the client disconnected, or the response is complete */
	struct buf body;
	struct sandbox_cache *cache;
	uint64_t began_us;
	int status;   /* of the response; set by the handler */
	bool begun;   /* the response is streamed */
	bool on_loop; /* the handler is quick and runs on the loop */
	bool stays;
	void (*on_gone)(struct agent_request *v, void *user);
	void *gone_user;
	atomic_uint refs;
	atomic_bool gone;
	pthread_mutex_t lock;
	pthread_cond_t less; /* unsent has decreased */
	size_t unsent;       /* streamed bytes on their way to the loop, and in its queue */
};

static struct {
	struct worker_pool *workers;
} the;

/* Number of running and waiting handlers per caller. */
struct busy {
	struct busy *next;
	unsigned n;
	char who[];
};

static struct {
	pthread_mutex_t lock;
	struct busy *all;
} busy = { .lock = PTHREAD_MUTEX_INITIALIZER };

static _Thread_local struct own *at_work; /* the request whose handler this thread runs */

enum response_part { RESPONSE_ALL, RESPONSE_BEGIN, RESPONSE_PIECE, RESPONSE_END };

struct response { /* from a handler to the loop */
	struct own *o;
	enum response_part what;
	int status;
	char *type, *headers;
	struct buf data;
};

void agent_requests_open(struct loop *l, struct worker_pool *w)
{
	(void)l;
	the.workers = w;
}

static struct own *own_of(const struct agent_request *rq)
{
	return (struct own *)(uintptr_t)rq; /* its first member */
}

static void wipe_free(char *z)
{
	if (z)
		explicit_bzero(z, strlen(z));
	free(z);
}

static void own_unref(struct own *o)
{
	struct agent_request *v = &o->pub;

	if (atomic_fetch_sub(&o->refs, 1) > 1)
		return;
	wipe_free(v->who.key);
	char *texts[] = { v->who.team, v->who.key_id, v->who.key_name, v->who.request, v->method, v->path, v->param,
		v->query, v->accept, v->session, v->protocol, v->content_type, v->rpc_method, v->rpc_name, v->url };

	if (v->data && v->data_free)
		v->data_free(v->data);
	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		free(texts[i]);
	buf_done(&o->body);
	(void)pthread_mutex_destroy(&o->lock);
	(void)pthread_cond_destroy(&o->less);
	free(o);
}

/* --- on the loop: the handler's response --------------------------------------------------------------------- */

static void settle_unsent(struct own *o, size_t n)
{
	(void)pthread_mutex_lock(&o->lock);
	o->unsent -= n < o->unsent ? n : o->unsent;
	(void)pthread_cond_broadcast(&o->less);
	(void)pthread_mutex_unlock(&o->lock);
}

static void response_send(void *arg)
{
	struct response *s = arg;
	struct own *o = s->o;

	if (o->rq) {
		switch (s->what) {
		case RESPONSE_ALL:
			http_respond(o->rq, s->status, s->type, s->headers, buf_view(&s->data));
			break;
		case RESPONSE_BEGIN:
			http_begin(o->rq, s->status, s->type, s->headers, -1);
			break;
		case RESPONSE_PIECE:
			http_write(o->rq, buf_view(&s->data));
			break;
		case RESPONSE_END:
			http_end(o->rq);
			break;
		}
	}
	if (s->what == RESPONSE_PIECE && (!o->rq || http_queued(o->rq) <= UNSENT_MAX))
		settle_unsent(o, o->rq ? s->data.n : SIZE_MAX);
	free(s->type);
	free(s->headers);
	buf_done(&s->data);
	own_unref(o);
	free(s);
}

static void response_post(struct own *o, enum response_part what, int status, const char *type, const char *headers,
    struct str data)
{
	struct response *s = calloc(1, sizeof *s);

	if (!s) {
		log_error("out of memory", "request=%s", o->pub.who.request);
		abort(); /* the warden restarts us */
	}
	*s = (struct response) { .o = o,
		.what = what,
		.status = status,
		.type = type ? strdup(type) : NULL,
		.headers = headers ? strdup(headers) : NULL,
		.data = BUF_INIT(ANSWER_MAX) };
	buf_str(&s->data, data);
	if (s->data.bad && what == RESPONSE_ALL) {
		s->status = 500;
		buf_done(&s->data);
		s->data = BUF_INIT(ANSWER_MAX);
		buf_z(&s->data, "{\"code\":500,\"message\":\"the response is too large\"}");
	}
	atomic_fetch_add(&o->refs, 1);
	worker_pool_post(the.workers, response_send, s);
}

/* --- for handlers -------------------------------------------------------------------------------------------- */

bool agent_request_gone(const struct agent_request *rq)
{
	return atomic_load(&own_of(rq)->gone);
}

bool agent_request_stopping(void *user)
{
	return tool_stopping(user) || (at_work && atomic_load(&at_work->gone));
}

struct sandbox_cache *agent_request_cache(struct agent_request *rq, struct atoll_error *e)
{
	struct own *o = own_of(rq);

	if (!o->cache && clients_take(&rq->who, &o->cache, e) < 0)
		return NULL;
	return o->cache;
}

struct atoll *agent_request_client(struct agent_request *rq, struct atoll_error *e)
{
	struct sandbox_cache *b = agent_request_cache(rq, e);

	return b ? sandbox_cache_client(b) : NULL;
}

json_t *agent_request_body(struct agent_request *rq, bool allow_empty)
{
	struct err e = ERR_INIT;
	json_t *j;

	if (json_read_object(rq->body, allow_empty, &j, &e) == 0)
		return j;
	agent_request_error(rq, 400, "%s", e.text);
	return NULL;
}

void agent_request_text(struct agent_request *rq, int status, const char *type, const char *headers, struct str body)
{
	struct own *o = own_of(rq);

	if (o->status)
		return;
	o->status = status;
	response_post(o, RESPONSE_ALL, status, type, headers, body);
}

void agent_request_json(struct agent_request *rq, int status, json_t *j)
{
	autojson json_t *mine = j;
	autobuf struct buf out = BUF_INIT(ANSWER_MAX);

	json_put(&out, mine);
	if (out.bad || !mine)
		agent_request_error(rq, 500, "the response is too large");
	else
		agent_request_text(rq, status, "application/json", NULL, buf_view(&out));
}

void agent_request_error(struct agent_request *rq, int status, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	/* The message may quote the client: truncated or invalid UTF-8 is not JSON. */
	json_t *j = json_pack("{s:i,s:s}", "code", status, "message", text);

	agent_request_json(rq, status, j ? j : json_pack("{s:i,s:s}", "code", status, "message", "request refused"));
}

void agent_request_fail(struct agent_request *rq, const struct atoll_error *ae)
{
	int status = ae->status >= 400 ? ae->status : 502;

	switch (ae->no) {
	case EINVAL:
		status = 400;
		break;
	case ENOENT:
		status = 404;
		break;
	case ENOTCONN:
	case ECONNREFUSED:
	case ECONNRESET:
		status = 503;
		break;
	case ETIMEDOUT:
		status = 504;
		break;
	default:
		break;
	}
	agent_request_error(rq, status, "%s", ae->text);
}

void agent_request_begin(struct agent_request *rq, int status, const char *type, const char *headers)
{
	struct own *o = own_of(rq);

	if (o->status)
		return;
	o->status = status;
	o->begun = true;
	response_post(o, RESPONSE_BEGIN, status, type, headers, STR_NULL);
}

void agent_request_write(struct agent_request *rq, struct str data)
{
	struct own *o = own_of(rq);

	(void)pthread_mutex_lock(&o->lock);
	while (!o->on_loop && o->unsent > UNSENT_MAX && !agent_request_gone(rq))
		(void)pthread_cond_wait(&o->less, &o->lock);
	o->unsent += data.n;
	(void)pthread_mutex_unlock(&o->lock);
	if (o->begun && !agent_request_gone(rq))
		response_post(o, RESPONSE_PIECE, 0, NULL, NULL, data);
}

void agent_request_stay(struct agent_request *rq, void (*on_gone)(struct agent_request *rq, void *user), void *user)
{
	struct own *o = own_of(rq);

	o->stays = true;
	o->on_gone = on_gone;
	o->gone_user = user;
}

void agent_request_end(struct agent_request *rq)
{
	response_post(own_of(rq), RESPONSE_END, 0, NULL, NULL, STR_NULL);
}

void agent_request_audit(const struct agent_request *rq, json_t *event)
{
	autojson json_t *mine = event;
	autobuf struct buf out = BUF_INIT(64 * 1024);

	if (!mine)
		return;
	if (!json_object_get(mine, "kind"))
		json_object_set(mine, "kind", json_object_get(mine, "event"));
	json_object_set_new(mine, "request", json_string(rq->who.request));
	json_object_set_new(mine, "team", json_string(rq->who.team));
	json_object_set_new(mine, "key", json_string(rq->who.key_id));
	json_put(&out, mine);
	if (out.bad || link_event(buf_view(&out)) < 0)
		log_warn("lost an event for the audit log", "request=%s", rq->who.request);
}

/* --- fairness ------------------------------------------------------------------------------------------------- */

static struct busy **busy_find(const struct caller *who)
{
	struct busy **at = &busy.all;
	const char *name = who->key_id[0] ? who->key_id : who->team;

	while (*at && strcmp((*at)->who, name) != 0)
		at = &(*at)->next;
	return at;
}

/* False: this caller has reached its limit. */
static bool busy_begin(const struct caller *who)
{
	const char *name = who->key_id[0] ? who->key_id : who->team;
	bool may = true;

	(void)pthread_mutex_lock(&busy.lock);
	struct busy **at = busy_find(who);

	if (!*at) {
		*at = calloc(1, sizeof **at + strlen(name) + 1);
		if (*at)
			memcpy((*at)->who, name, strlen(name) + 1);
	}
	may = *at && (*at)->n < WORKER_EACH;
	if (may)
		(*at)->n++;
	(void)pthread_mutex_unlock(&busy.lock);
	return may;
}

static void busy_end(const struct caller *who)
{
	(void)pthread_mutex_lock(&busy.lock);
	struct busy **at = busy_find(who), *one = *at;

	if (--one->n == 0) {
		*at = one->next;
		free(one);
	}
	(void)pthread_mutex_unlock(&busy.lock);
}

/* --- running the handler ------------------------------------------------------------------------------------- */

static void handler_run(void *arg)
{
	struct own *o = arg;
	struct agent_request *v = &o->pub;

	at_work = o;
	o->route->handler(v);
	at_work = NULL;
	if (!o->status)
		agent_request_error(v, 500, "the agent layer did not answer this request");
	else if (o->begun && !o->stays)
		agent_request_end(v);
	sandbox_cache_unref(take_ptr(&o->cache));
	if (!o->on_loop)
		busy_end(&v->who);
	log_info("served", "request=%s method=%s path=%s status=%d ms=%.1f team=%s%s", v->who.request, v->method,
	    o->route->on.pattern, o->status, (double)(clock_mono_us() - o->began_us) / 1000, v->who.team,
	    agent_request_gone(v) ? " gone=1" : "");
	own_unref(o);
}

/* --- on the loop: the request -------------------------------------------------------------------------------- */

static void http_refuse(struct http_req *rq, int status, const char *message, const char *headers)
{
	autobuf struct buf out = BUF_INIT(1024);

	buf_fmt(&out, "{\"code\":%d,\"message\":\"%s\"}", status, message);
	http_respond(rq, status, "application/json", headers, buf_view(&out));
}

static void on_body(struct http_req *rq, struct str data)
{
	struct own *o = rq->user;

	if (http_ended(rq) || o->body.bad)
		return;
	buf_str(&o->body, data);
	if (o->body.bad) {
		http_close_after(rq);
		http_refuse(rq, 413, "request body is too large", NULL);
	}
}

static void on_body_end(struct http_req *rq)
{
	struct own *o = rq->user;

	if (http_ended(rq))
		return;
	o->pub.body = buf_view(&o->body);
	o->on_loop = o->route->quick && o->route->quick(&o->pub);
	atomic_fetch_add(&o->refs, 1);
	if (o->on_loop) {
		handler_run(o);
	} else if (!busy_begin(&o->pub.who)) {
		own_unref(o);
		http_refuse(rq, 429, "too many concurrent calls for this key", "Retry-After: 1\r\n");
	} else if (worker_pool_run(the.workers, handler_run, o) < 0) {
		busy_end(&o->pub.who);
		own_unref(o);
		http_refuse(rq, 503, "the agent layer is overloaded, try again in a moment", "Retry-After: 1\r\n");
	}
}

static void on_drain(struct http_req *rq)
{
	settle_unsent(rq->user, SIZE_MAX);
}

static void on_close(struct http_req *rq, bool lost)
{
	struct own *o = rq->user;

	(void)lost;
	o->rq = NULL;
	atomic_store(&o->gone, true);
	settle_unsent(o, SIZE_MAX);
	if (o->on_gone)
		o->on_gone(&o->pub, o->gone_user);
	own_unref(o);
}

static const struct http_req_ops ops = { .on_body = on_body,
	.on_body_end = on_body_end,
	.on_drain = on_drain,
	.on_close = on_close };

static char *header_copy(const struct http_req *rq, const char *name)
{
	struct str s = http_header_get(&rq->headers, name);

	return s.n ? str_dup(s) : strdup("");
}

static char *header_decoded(const struct http_req *rq, const char *name)
{
	autobuf struct buf out = BUF_INIT(PARAM_MAX);

	return url_decode(http_header_get(&rq->headers, name), false, &out) < 0 ? strdup("") : str_dup(buf_view(&out));
}

static int take_param(struct own *o, struct str raw)
{
	autobuf struct buf out = BUF_INIT(PARAM_MAX);

	if (!raw.p)
		return 0;
	if (url_decode(raw, false, &out) < 0 || out.bad)
		return -EINVAL;
	o->pub.param = str_dup(buf_view(&out));
	return o->pub.param ? 0 : -ENOMEM;
}

static int fill(struct own *o, struct http_req *rq)
{
	struct agent_request *v = &o->pub;

	v->who = (struct caller) { .key = header_copy(rq, "x-atoll-key"),
		.team = header_copy(rq, "x-atoll-team"),
		.key_id = header_copy(rq, "x-atoll-key-id"),
		.key_name = header_decoded(rq, "x-atoll-key-name"),
		.request = header_copy(rq, "x-request-id"),
		.admin = http_header_get(&rq->headers, "x-atoll-admin").n > 0 };
	v->method = str_dup(rq->method);
	v->path = str_dup(rq->path);
	v->query = str_dup(rq->query);
	v->accept = header_copy(rq, "accept");
	v->session = header_copy(rq, "mcp-session-id");
	v->protocol = header_copy(rq, "mcp-protocol-version");
	v->content_type = header_copy(rq, "content-type");
	v->rpc_method = header_copy(rq, "mcp-method");
	v->rpc_name = header_copy(rq, "mcp-name");
	v->url = header_copy(rq, "x-atoll-url");
	return v->who.key && v->who.team && v->who.key_id && v->who.key_name && v->who.request && v->method &&
		v->path && v->query && v->accept && v->session && v->protocol && v->content_type && v->rpc_method &&
		v->rpc_name && v->url
	    ? 0
	    : -ENOMEM;
}

static void ignore_close(struct http_req *rq, bool lost)
{
	(void)rq;
	(void)lost;
}

static const struct http_req_ops refused_ops = { .on_close = ignore_close };

void agent_request_arrive(struct http_req *rq)
{
	autobuf struct buf allow = BUF_INIT(256);
	struct str raw;
	const struct route *route = agent_route_find(rq->method, rq->path, &raw, &allow);
	struct own *o = route ? calloc(1, sizeof *o) : NULL;

	rq->ops = &refused_ops;
	if (!o && allow.n > 0) {
		autofree char *line = str_fmt("Allow: %s\r\n", buf_cstr(&allow));

		http_refuse(rq, 405, "method not allowed", line);
		return;
	}
	if (!o) {
		http_refuse(rq, route ? 503 : 404, route ? "out of memory" : "no such path", NULL);
		return;
	}
	o->route = route;
	o->rq = rq;
	o->began_us = clock_mono_us();
	o->body = BUF_INIT(route->body_max ? route->body_max : 1);
	atomic_init(&o->refs, 1);
	(void)pthread_mutex_init(&o->lock, NULL);
	(void)pthread_cond_init(&o->less, NULL);
	rq->ops = &ops;
	rq->user = o;
	if (fill(o, rq) < 0)
		http_refuse(rq, 503, "out of memory", NULL);
	else if (take_param(o, raw) < 0)
		http_refuse(rq, 400, "path has a malformed or overlong segment", NULL);
}
