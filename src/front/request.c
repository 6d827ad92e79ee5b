/* SPDX-License-Identifier: Apache-2.0 */
/* front/request: route, key, body, handler, in this order. */
#include "front/request.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/rand.h"
#include "front/auth.h"
#include "front/cors.h"
#include "front/front.h"
#include "front/mem.h"
#include "front/proxy_route.h"
#include "front/reply.h"
#include "front/routes.h"
#include "front/sandbox.h"
#include "front/sandbox_table.h"
#include "http/json.h"
#include "http/server.h"
#include "http/url.h"

#define PATH_LOGGED_MAX 200
#define PARAM_MAX 512

struct req *req_ref(struct req *r)
{
	r->refs++;
	return r;
}

void req_unref(struct req *r)
{
	if (!r || --r->refs > 0)
		return;
	buf_done(&r->body);
	free(r->path);
	free(r->param);
	free(r);
}

static bool is_harmless(struct str id)
{
	if (id.n == 0 || id.n >= REQUEST_ID_SIZE)
		return false;
	for (size_t i = 0; i < id.n; i++) {
		char c = id.p[i];

		if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || strchr("-_.:", c)))
			return false;
	}
	return true;
}

void request_id(const struct http_req *rq, char ret[REQUEST_ID_SIZE])
{
	struct str given = http_header_get(&rq->headers, "x-request-id");

	uint64_t v;

	if (is_harmless(given)) {
		(void)str_copy(ret, REQUEST_ID_SIZE, given);
		return;
	}
	rand_bytes(&v, sizeof v);
	(void)snprintf(ret, REQUEST_ID_SIZE, "%016" PRIx64, v);
}

static void on_body(struct http_req *rq, struct str data)
{
	struct req *r = rq->user;

	if (r->status)
		return;
	buf_str(&r->body, data);
	if (r->body.bad) {
		http_close_after(rq);
		reply_error(r, 413, "request body is larger than %zu bytes", r->route->body_max);
	}
}

static void on_body_end(struct http_req *rq)
{
	struct req *r = rq->user;

	if (!r->status)
		r->route->handler(r);
}

static void on_close(struct http_req *rq, bool lost)
{
	struct req *r = rq->user;

	r->http = NULL;
	log_info("request", "request=%s method=%s path=%s status=%d ms=%llu%s", r->id, r->method, r->path, r->status,
		 (unsigned long long)(clock_mono_ms() - r->began_ms), lost ? " lost=1" : "");
	front_request_over(r->front);
	req_unref(r);
}

static const struct http_req_ops ops = { .on_body = on_body, .on_body_end = on_body_end, .on_close = on_close };

/* The part of the path that stands for an id or a name. */
static int take_param(struct req *r, struct str raw)
{
	autobuf struct buf out = BUF_INIT(PARAM_MAX);

	if (!raw.p)
		return 0;
	if (url_decode(raw, false, &out) < 0 || out.bad) {
		reply_error(r, 400, "path has a malformed or too long part");
		return -EINVAL;
	}
	r->param = must_dup_str(buf_view(&out));
	return 0;
}

static void check_and_read(struct req *r, struct str raw_param)
{
	struct http_req *rq = r->http;
	struct err e;

	if (!r->route->open && auth_check(r->front->auth, &rq->headers, r->team, &e) < 0) {
		reply_error(r, 401, "%s", e.text);
		return;
	}
	if (take_param(r, raw_param) < 0)
		return;
	if (rq->content_length > 0 && (uint64_t)rq->content_length > r->route->body_max && r->route->body_max > 0) {
		http_close_after(rq);
		reply_error(r, 413, "request body is larger than %zu bytes", r->route->body_max);
		return;
	}
	/* A route without a body answers at once; what the client sends all the same is read and dropped. */
	if (r->route->body_max == 0)
		r->route->handler(r);
}

void req_begin(struct front *f, struct http_req *rq)
{
	autobuf struct buf allow = BUF_INIT(256);
	struct str raw_param = STR_NULL;
	struct req *r = must_alloc(sizeof *r);

	r->front = f;
	r->http = rq;
	r->refs = 1;			/* the connection's */
	r->began_ms = clock_mono_ms();
	request_id(rq, r->id);
	(void)str_copy(r->method, sizeof r->method, rq->method);
	r->path = must_dup_str((struct str) { rq->path.p, rq->path.n < PATH_LOGGED_MAX ? rq->path.n : PATH_LOGGED_MAX });
	rq->ops = &ops;
	rq->user = r;
	f->requests++;

	if (str_is(rq->method, "OPTIONS")) {
		r->status = 204;
		cors_preflight_api(rq);
		return;
	}
	r->route = route_find(rq->method, rq->path, &raw_param, &allow);
	if (r->route) {
		r->body = BUF_INIT(r->route->body_max);
		check_and_read(r, raw_param);
	} else if (allow.n > 0) {
		autofree char *line = str_fmt("Allow: %s, OPTIONS\r\n", buf_cstr(&allow));

		reply_json(r, 405, json_pack("{s:i,s:s}", "code", 405, "message", "method not allowed"), line);
	} else {
		reply_error(r, 404, "no such path");
	}
}

/* The member of the body in which a NUL stands; the parser only says that there is one. */
static const char *find_nul(const json_t *j)
{
	const char *key;
	json_t *v;
	size_t i;

	if (json_is_string(j))
		return strlen(json_string_value(j)) != json_string_length(j) ? "" : NULL;
	json_array_foreach((json_t *)j, i, v) {
		if (find_nul(v))
			return "";
	}
	json_object_foreach((json_t *)j, key, v) {
		if (find_nul(v))
			return key;
	}
	return NULL;
}

static void reply_bad_json(struct req *r, const struct err *e)
{
	autojson json_t *j = strstr(e->text, "u0000") ? json_loadb(r->body.p, r->body.n, JSON_ALLOW_NUL, NULL) : NULL;
	const char *field = j ? find_nul(j) : NULL;

	if (field)
		reply_error(r, 400, "field '%s' must not contain a NUL character", field);
	else
		reply_err(r, e);
}

json_t *req_json(struct req *r, bool allow_empty)
{
	json_t *j;
	struct err e;

	if (json_read_object(buf_view(&r->body), allow_empty, &j, &e) < 0) {
		reply_bad_json(r, &e);
		return NULL;
	}
	return j;
}

struct sandbox *req_sandbox(struct req *r)
{
	struct str rest = str_of(r->param);
	struct str id = str_cut(&rest, '-');

	/* "{id}-{client id}" was the form of old ids. */
	if (!sandbox_id_valid(id) || (rest.p && memchr(rest.p, '-', rest.n))) {
		reply_error(r, 400, "sandbox id is malformed");
		return NULL;
	}

	struct sandbox *sb = sandbox_table_find(r->front->sandboxes, id);

	if (!sb || sb->state == SANDBOX_STARTING || strcmp(sb->team, r->team) != 0) {
		reply_error(r, 404, "sandbox '%.*s' not found", id.n < 64 ? (int)id.n : 64, id.p);
		return NULL;
	}
	return sb;
}

struct wait {
	struct sandbox_waiter w;
	struct req *r;
	void (*then)(struct req *r, struct sandbox *sb);
};

static void on_settled(struct sandbox_waiter *w, struct sandbox *sb)
{
	struct wait *wt = container_of(w, struct wait, w);

	wt->then(wt->r, sb);
	req_unref(wt->r);
	free(wt);
}

void req_wait(struct req *r, struct sandbox *sb, void (*then)(struct req *r, struct sandbox *sb))
{
	struct wait *wt = must_alloc(sizeof *wt);

	wt->w.fn = on_settled;
	wt->r = req_ref(r);
	wt->then = then;
	sandbox_wait(sb, &wt->w);
}
