/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: a server that speaks HTTP/2 gets a preface and these bytes, at once and again in pieces (their size in
 * the first byte). It must see the same requests and bodies both times, and end every one of them. */
#include <string.h>

#include "fuzz.h"
#include "http/conn.h"
#include "http/h2.h"
#include "peer.h"

/* requests; with more open at once some are refused, depending on when others end */
#define COMPARED 100

static struct buf *seen; /* heads */
static int open_requests, n_requests;

static void note(char what, struct str s)
{
	if (n_requests > COMPARED)
		return;
	buf_ch(seen, what);
	buf_str(seen, s);
}

static void on_body(struct http_req *rq, struct str data)
{
	MUST(data.n && rq->user);
	buf_str(rq->user, data);
}

static void on_body_end(struct http_req *rq)
{
	http_respond(rq, 200, "text/plain", NULL, STR_LIT("ok"));
}

static void on_close(struct http_req *rq, bool lost)
{
	(void)lost;
	buf_done(rq->user);
	free(rq->user);
	open_requests--;
}

static const struct http_req_ops req_ops = { .on_body = on_body, .on_body_end = on_body_end, .on_close = on_close };

/* What must not reach anybody who writes it down as HTTP/1.1. */
static bool is_clean(struct str s)
{
	return !s.n || (!memchr(s.p, '\r', s.n) && !memchr(s.p, '\n', s.n) && !memchr(s.p, '\0', s.n));
}

static void on_request(void *user, struct http_req *rq)
{
	struct buf *body = malloc(sizeof *body);

	(void)user;
	MUST(body);
	*body = BUF_INIT(4 << 20);
	open_requests++;
	n_requests++;
	rq->ops = &req_ops;
	rq->user = body;
	MUST(rq->method.n && is_clean(rq->method) && !memchr(rq->method.p, ' ', rq->method.n));
	MUST(rq->target.n && is_clean(rq->target) && !memchr(rq->target.p, ' ', rq->target.n));
	MUST(rq->host.n && is_clean(rq->host) && rq->headers.n <= HTTP_HEADERS_MAX);
	note('M', rq->method);
	note(' ', rq->target);
	note('@', rq->host);
	for (size_t i = 0; i < rq->headers.n; i++) {
		struct http_header h = rq->headers.v[i];

		MUST(h.name.n && !memchr(h.name.p, ' ', h.name.n) && !memchr(h.name.p, ':', h.name.n) &&
		    is_clean(h.name) && is_clean(h.value));
		note('H', h.name);
		note(':', h.value);
	}
	MUST(!http_header_get(&rq->headers, "transfer-encoding").p && !http_header_get(&rq->headers, "connection").p);
	if (str_is(rq->path, "/abort"))
		http_abort(rq);
	else if (str_is(rq->path, "/early"))
		http_respond(rq, 200, NULL, NULL, STR_LIT("early"));
}

static const struct http_server_ops ops = { .on_request = on_request };

static void serve(struct loop *l, struct str in, size_t step, struct buf *ret_seen, struct buf *ret_back)
{
	struct http_server *s = http_server_new(l, -1, &ops, NULL);
	int sv[2];

	MUST(s);
	http_server_h2(s);
	seen = ret_seen;
	n_requests = 0;
	MUST(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sv) == 0);
	MUST(http_server_adopt(s, sv[0]) == 0);
	peer_feed(l, sv[1], STR_LIT("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), 24, ret_back);
	peer_feed(l, sv[1], in, step, ret_back);
	close(sv[1]);
	peer_turns(l, 4);
	MUST(s->h2_held == 0 && s->h2_granted == 0);
	http_server_free(s);
	peer_turns(l, 1);
	MUST(open_requests == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct loop *l;
	autobuf struct buf whole = BUF_INIT(4 << 20), pieces = BUF_INIT(4 << 20), back1 = BUF_INIT(4 << 20),
			   back2 = BUF_INIT(4 << 20);

	if (size < 2)
		return 0;
	if (!l)
		l = loop_new();
	struct str in = { (const char *)data + 1, size - 1 < 4096 ? size - 1 : 4096 };
	serve(l, in, in.n, &whole, &back1);
	serve(l, in, 1u + data[0] % 32, &pieces, &back2);
	/* A connection that the peer has bidden goodbye to ends with its last request, which may be sooner. */
	size_t common = whole.n < pieces.n ? whole.n : pieces.n;

	MUST(common == 0 || memcmp(whole.p, pieces.p, common) == 0);
	return 0;
}
