/* SPDX-License-Identifier: Apache-2.0 */
/* client/audit: reads records of the audit trail, page by page. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "client/client.h"
#include "http/url.h"

#define PAGE 1000

static void put_param(struct buf *b, const char *name, const char *value)
{
	if (!value || !*value)
		return;
	buf_fmt(b, "&%s=", name);
	url_encode(b, str_of(value));
}

static void put_query(struct buf *b, const struct atoll_audit_query *q)
{
	buf_fmt(b, "%s?limit=%d", q->all_teams ? "/admin/audit" : "/audit", PAGE);
	if (q->last)
		buf_fmt(b, "&last=%" PRIu64, q->last < PAGE ? q->last : PAGE);
	if (q->after)
		buf_fmt(b, "&after=%" PRIu64, q->after);
	if (q->before)
		buf_fmt(b, "&before=%" PRIu64, q->before);
	if (q->text)
		buf_z(b, "&text=true");
	if (q->all_teams)
		put_param(b, "team", q->team);
	put_param(b, "key", q->key);
	put_param(b, "sandbox", q->sandbox);
	put_param(b, "session", q->session);
	put_param(b, "kind", q->kind);
	put_param(b, "request", q->request);
	put_param(b, "from", q->from);
	put_param(b, "to", q->to);
}

/* Passes the records of a page to fn. Returns their number; *after becomes the number of the last. */
static int take_page(struct str page, atoll_audit_fn *fn, void *user, uint64_t *after, bool *more,
    struct atoll_error *e)
{
	int n = 0;

	while (page.n > 0) {
		struct str line = str_cut(&page, '\n');
		autofree char *z = str_dup(line);

		if (!z)
			return client_no_memory(e);
		if (strncmp(z, "{\"seq\":", 7) != 0)
			return client_fail(e, EPROTO, 0, "the server's response is not a list of records");
		*after = strtoull(z + 7, NULL, 10);
		n++;
		if (fn(user, *after, z) < 0) {
			*more = false;
			return 0;
		}
	}
	return n;
}

static int get_page(struct atoll *a, const struct atoll_audit_query *q, struct buf *ret, uint64_t *ret_next,
    struct atoll_error *e)
{
	autobuf struct buf path = BUF_INIT(16 * 1024);

	put_query(&path, q);
	autocall struct call c = CALL_INIT("GET", a->api_url, path.bad ? NULL : buf_cstr(&path));

	if (api_call(a, &c, e) < 0)
		return -e->no;
	*ret_next = strtoull(c.next_token, NULL, 10);
	*ret = c.answer;
	c.answer = BUF_INIT(0);
	return 0;
}

static int first_ones(struct atoll *a, struct atoll_audit_query *q, atoll_audit_fn *fn, void *user,
    struct atoll_error *e)
{
	bool more;
	int n;

	do {
		autobuf struct buf page = BUF_INIT(0);
		uint64_t next;

		if (get_page(a, q, &page, &next, e) < 0)
			return -e->no;
		more = next != 0; /* the server stopped its search here */
		n = take_page(buf_view(&page), fn, user, &q->after, &more, e);
		if (more && next > q->after)
			q->after = next;
		else if (more && n <= 0)
			break; /* no progress: avoid an endless loop */
	} while (n == PAGE || (n >= 0 && more));
	return n < 0 ? n : 0;
}

/* Pages arrive newest first. */
struct pages {
	struct buf *v;
	size_t n;
};

static void pages_done(struct pages *p)
{
	for (size_t i = 0; i < p->n; i++)
		buf_done(&p->v[i]);
	free(p->v);
}

static uint64_t count_lines(struct str page)
{
	uint64_t n = 0;

	for (; page.n > 0; n++)
		(void)str_cut(&page, '\n');
	return n;
}

static int last_ones(struct atoll *a, struct atoll_audit_query *q, atoll_audit_fn *fn, void *user,
    struct atoll_error *e)
{
	__attribute__((cleanup(pages_done))) struct pages all = { NULL, 0 };
	uint64_t next, seq = 0;
	bool more = true;

	for (;;) {
		struct buf *v = reallocarray(all.v, all.n + 1, sizeof *v), page;

		if (!v)
			return client_no_memory(e);
		all.v = v;
		if (get_page(a, q, &page, &next, e) < 0)
			return -e->no;
		v[all.n++] = page;
		uint64_t n = count_lines(buf_view(&page));

		if (n >= q->last || !next || (q->before && next >= q->before))
			break;
		q->last -= n;
		q->before = next;
	}
	while (all.n > 0 && more) {
		if (take_page(buf_view(&all.v[all.n - 1]), fn, user, &seq, &more, e) < 0)
			return -e->no;
		buf_done(&all.v[--all.n]);
	}
	return 0;
}

int atoll_audit(struct atoll *a, const struct atoll_audit_query *q, atoll_audit_fn *fn, void *user,
    struct atoll_error *e)
{
	NEED(e, a && q && fn);
	struct atoll_audit_query own;

	if (TAKE_IN(&own, q, e) < 0)
		return -e->no;
	return own.last ? last_ones(a, &own, fn, user, e) : first_ones(a, &own, fn, user, e);
}

int atoll_notebook(struct atoll *a, const char *id, const char *context, atoll_taker *taker, void *user,
    struct atoll_error *e)
{
	NEED(e, a && id && taker);
	autobuf struct buf tail = BUF_INIT(4096);

	buf_z(&tail, "/notebook?");
	put_param(&tail, "context", context);
	autofree char *path = tail.bad ? NULL : api_path("/sandboxes/", id, buf_cstr(&tail));
	autocall struct call c = CALL_INIT("GET", a->api_url, path);

	c.taker = taker;
	c.taker_user = user;
	return api_call(a, &c, e);
}
