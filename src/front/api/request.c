/* SPDX-License-Identifier: Apache-2.0 */
/* front/api/request: the body, the sandbox and the waits of a request. */
#include "front/api/request.h"

#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "front/api/api.h"
#include "front/api/reply.h"
#include "front/link/links.h"
#include "front/link/warden_link.h"
#include "front/proxy/debug.h"
#include "front/proxy/proxies.h"
#include "front/proxy/route.h"
#include "front/sandbox/sandbox.h"
#include "front/sandbox/sandboxes.h"
#include "front/sandbox/table.h"
#include "front/util/mem.h"
#include "http/json.h"
#include "http/server.h"

/* Finds the member of the body that contains a NUL; the parser reports only that there is one. */
static const char *find_nul(const json_t *j)
{
	const char *key;
	json_t *v;
	size_t i;

	if (json_is_string(j))
		return strlen(json_string_value(j)) != json_string_length(j) ? "" : NULL;
	json_array_foreach((json_t *)j, i, v)
	{
		if (find_nul(v))
			return "";
	}
	json_object_foreach((json_t *)j, key, v)
	{
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

int req_sandbox_id(struct req *r, struct str *ret)
{
	const char *debug = strcmp(r->param, DEBUG_ID) == 0 ? debug_id(r->api->proxy->debug) : NULL;
	struct str rest = str_of(debug ? debug : r->param);
	struct str id = str_cut(&rest, '-');

	/* Old ids had the form "{id}-{client id}". */
	if (!sandbox_id_valid(id) || (rest.p && memchr(rest.p, '-', rest.n))) {
		reply_error(r, 400, "sandbox id is malformed");
		return -EINVAL;
	}
	(void)str_copy(r->sandbox, sizeof r->sandbox, id);
	*ret = id;
	return 0;
}

bool req_owns_sandbox(const struct req *r)
{
	const struct sandbox *sb = sandbox_table_find(r->api->sandbox->table, str_of(r->sandbox));

	return sb && sb->state != SANDBOX_STARTING && strcmp(sb->team, r->caller.team) == 0;
}

struct sandbox *req_sandbox(struct req *r)
{
	struct str id;

	if (req_sandbox_id(r, &id) < 0)
		return NULL;

	struct sandbox *sb = sandbox_table_find(r->api->sandbox->table, id);

	if (!sb || sb->state == SANDBOX_STARTING || strcmp(sb->team, r->caller.team) != 0) {
		reply_no_sandbox(r, id);
		return NULL;
	}
	return sb;
}

bool req_sees_tokens(const struct req *r)
{
	return r->caller.role != ROLE_VIEWER;
}

struct req_wait_entry {
	struct sandbox_waiter w;
	LIST_ENTRY(req_wait_entry) link; /* in f->api.waiting */
	struct req *r;
	void (*then)(struct req *r, struct sandbox *sb);
	void (*handler)(struct req *r); /* or call this */
};

static void on_settled(struct sandbox_waiter *w, struct sandbox *sb)
{
	struct req_wait_entry *wt = container_of(w, struct req_wait_entry, w);

	LIST_REMOVE(wt, link);
	if (wt->handler && !wt->r->status) /* a request that was answered because of a silent warden is over */
		wt->handler(wt->r);
	else if (!wt->handler)
		wt->then(wt->r, sb);
	req_unref(wt->r);
	free(wt);
}

static void wait_for(struct req *r, struct sandbox *sb, struct req_wait_entry how)
{
	struct req_wait_entry *wt = must_alloc(sizeof *wt);

	*wt = how;
	wt->w.fn = on_settled;
	wt->r = req_ref(r);
	LIST_INSERT_HEAD(&r->api->waiting, wt, link);
	sandbox_wait(sb, &wt->w);
}

void req_wait(struct req *r, struct sandbox *sb, void (*then)(struct req *r, struct sandbox *sb))
{
	wait_for(r, sb, (struct req_wait_entry) { .then = then });
}

void req_again(struct req *r, struct sandbox *sb, void (*handler)(struct req *r))
{
	wait_for(r, sb, (struct req_wait_entry) { .handler = handler });
}

void req_waiting_tick(struct api *a)
{
	struct req_wait_entry *wt;

	if (!warden_silent(a->link->warden))
		return;
	LIST_FOREACH(wt, &a->waiting, link)
	{
		if (!wt->r->status && wt->r->http)
			reply_late(wt->r);
	}
}
