/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: a server gets these bytes at once, and again in pieces (their size in the first byte). It must see the
 * same requests and bodies both times. */
#include <string.h>

#include "fuzz.h"
#include "http/server.h"
#include "peer.h"

static struct buf *seen;
static int open_requests;

static void note(char what, struct str s)
{
	buf_ch(seen, what);
	buf_str(seen, s);
}

static void on_body(struct http_req *rq, struct str data)
{
	(void)rq;
	MUST(data.n);
	buf_str(seen, data);
}

static void on_body_end(struct http_req *rq)
{
	buf_ch(seen, '.');
	http_respond(rq, 200, "text/plain", NULL, STR_LIT("ok"));
}

static void on_close(struct http_req *rq, bool lost)
{
	(void)rq;
	(void)lost;
	open_requests--;
}

static const struct http_req_ops req_ops = { .on_body = on_body, .on_body_end = on_body_end, .on_close = on_close };

static void on_request(void *user, struct http_req *rq)
{
	(void)user;
	open_requests++;
	rq->ops = &req_ops;
	note('M', rq->method);
	note(' ', rq->path);
	note('?', rq->query);
	note('@', rq->host);
	MUST(rq->headers.n <= HTTP_HEADERS_MAX);
	for (size_t i = 0; i < rq->headers.n; i++) {
		struct http_header h = rq->headers.v[i];

		MUST(h.name.n && !memchr(h.name.p, ' ', h.name.n));
		MUST(!h.value.n ||
		    (!memchr(h.value.p, '\r', h.value.n) && !memchr(h.value.p, '\n', h.value.n) &&
			!memchr(h.value.p, '\0', h.value.n)));
		note('H', h.name);
		note(':', h.value);
	}
	bool lengths = http_header_get(&rq->headers, "content-length").p;
	MUST(!(lengths && http_header_get(&rq->headers, "transfer-encoding").p));
}

static const struct http_server_ops ops = { .on_request = on_request };

static void serve(struct loop *l, struct str in, size_t step, struct buf *ret_seen, struct buf *ret_back)
{
	struct http_server *s = http_server_new(l, -1, &ops, NULL);
	int sv[2];

	MUST(s);
	seen = ret_seen;
	MUST(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sv) == 0);
	MUST(http_server_adopt(s, sv[0]) == 0);
	peer_feed(l, sv[1], in, step, ret_back);
	close(sv[1]);
	peer_turns(l, 3);
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
	/* An answer may be cut off when the peer has more to say, but the requests are the same ones. */
	MUST(whole.n >= pieces.n ? memcmp(whole.p ? whole.p : "", pieces.p ? pieces.p : "", pieces.n) == 0
				 : memcmp(whole.p ? whole.p : "", pieces.p, whole.n) == 0);
	return 0;
}
