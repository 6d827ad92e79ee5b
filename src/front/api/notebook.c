/* SPDX-License-Identifier: Apache-2.0 */
/* front/api/notebook: GET /sandboxes/{id}/notebook: what a sandbox ran, as a Jupyter notebook, sent cell by cell. */
#include <stdlib.h>
#include <string.h>

#include "audit/chain.h"
#include "base/fd.h"
#include "front/api/api.h"
#include "front/api/handlers.h"
#include "front/api/reply.h"
#include "front/api/request.h"
#include "front/link/links.h"
#include "front/record/ipynb.h"
#include "front/record/notebook.h"
#include "front/sandbox/sandbox.h"
#include "front/util/cors.h"
#include "front/util/mem.h"
#include "http/server.h"
#include "http/url.h"
#include "loop/loop.h"
#include "loop/stream.h"
#include "store/notebooks.h"

#define PIECE_MAX (64u * 1024 * 1024) /* a cell as JSON: escaping makes six bytes of one at worst */

struct work { /* r->work */
	struct req *r;
	struct timer *timer;
	struct notebook_head head;
	struct ipynb nb;
	char context[AUDIT_WORD_MAX + 1];
	uint64_t last;
};

static void step(void *user)
{
	struct work *w = user;
	autobuf struct buf out = BUF_INIT(PIECE_MAX);
	struct cell_row c;
	struct err e = ERR_INIT;
	struct req *r = w->r;

	if (!r->http)
		return;
	int n = notebooks_next(notebook_db(r->api->record), r->sandbox, w->context[0] ? w->context : NULL, w->last, &c,
	    &e);

	if (n == 1) {
		w->last = c.n;
		ipynb_cell(&w->nb, &c, &out);
	} else {
		ipynb_end(&w->nb, w->head.missed, &out);
	}
	if (n < 0 || out.bad) {
		http_abort(r->http);
		return;
	}
	http_write(r->http, buf_view(&out));
	if (n == 0)
		http_end(r->http);
	else if (http_queued(r->http) <= STREAM_HIGH)
		timer_arm(w->timer, 0);
}

void api_notebook_drain(struct req *r)
{
	struct work *w = r->work;

	if (w && w->timer)
		timer_arm(w->timer, 0);
}

void api_notebook_over(struct req *r)
{
	struct work *w = r->work;

	if (w)
		timer_free(take_ptr(&w->timer));
}

static int read_context(struct req *r, struct work *w)
{
	autofree char *context = NULL;
	int no = query_get(r->http->query, "context", &context);

	if (no == -ENOENT)
		return 0;
	if (no < 0 || !audit_word_valid(str_of(context)) || !str_copy(w->context, sizeof w->context, str_of(context))) {
		reply_error(r, 400, "parameter 'context' must be the id of a context");
		return -EINVAL;
	}
	return 0;
}

void api_notebook(struct req *r)
{
	struct store *db = notebook_db(r->api->record);
	autobuf struct buf out = BUF_INIT(4096), headers = BUF_INIT(2048);
	struct err e = ERR_INIT;
	struct str id;

	if (req_sandbox_id(r, &id) < 0)
		return;
	if (!db) {
		reply_error(r, 404, "no notebooks are kept here (notebook_mb = 0)");
		return;
	}
	struct work *w = r->work = must_alloc(sizeof *w);

	w->r = r;
	if (read_context(r, w) < 0)
		return;
	notebook_save(r->api->record);

	int no = notebooks_find(db, r->sandbox, r->caller.team, &w->head, &e);

	if (no == -ENOENT && !req_owns_sandbox(r)) {
		reply_error(r, 404,
		    "sandbox \"%s\" doesn't exist, has run no code, or its notebook is not kept any more", r->sandbox);
		return;
	}
	if (no < 0 && no != -ENOENT) {
		reply_err(r, &e);
		return;
	}
	w->timer = timer_new(r->api->link->loop, step, w);
	if (!w->timer) {
		reply_error(r, 503, "out of memory");
		return;
	}
	r->status = 200;
	buf_fmt(&headers,
	    CORS_API_HEADERS "X-Request-Id: %s\r\nContent-Disposition: attachment; filename=\"%s.ipynb\"\r\n", r->id,
	    r->sandbox);
	http_begin(r->http, 200, "application/x-ipynb+json", buf_cstr(&headers), -1);
	ipynb_begin(&w->nb, r->sandbox, w->head.language, w->head.contexts > 1, &out);
	http_write(r->http, buf_view(&out));
	timer_arm(w->timer, 0);
}
