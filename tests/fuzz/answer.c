/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: a call gets these bytes for an answer. There is at most one end or error, never both, and the body is
 * the same however the bytes are cut. */
#include <string.h>

#include "fuzz.h"
#include "http/call.h"
#include "peer.h"

struct outcome {
	int answers, ends, errors, status;
	struct buf body;
};

static void on_answer(void *user, const struct http_answer *a)
{
	struct outcome *o = user;

	o->answers++;
	o->status = a->status;
	MUST(a->status >= 101 && a->status <= 999);
}

static void on_data(void *user, struct str data)
{
	struct outcome *o = user;

	MUST(data.n && o->answers == 1 && !o->ends && !o->errors);
	buf_str(&o->body, data);
}

static void on_end(void *user)
{
	struct outcome *o = user;

	MUST(o->answers == 1 && !o->errors);
	o->ends++;
}

static void on_error(void *user, int no)
{
	struct outcome *o = user;

	MUST(no > 0 && !o->ends);
	o->errors++;
}

static const struct http_call_ops ops = { .on_answer = on_answer,
	.on_data = on_data,
	.on_end = on_end,
	.on_error = on_error };

static void listen_to(struct loop *l, struct str in, size_t step, bool is_head, struct outcome *o)
{
	autobuf struct buf request = BUF_INIT(1 << 20);
	int sv[2];

	*o = (struct outcome) { .body = BUF_INIT(1 << 20) };
	MUST(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sv) == 0);
	struct http_call *c = http_call_new(l, sv[0], &ops, o);
	MUST(c);
	http_call_head(c, STR_LIT("GET / HTTP/1.1\r\nHost: x\r\n\r\n"), is_head, false);
	peer_feed(l, sv[1], in, step, &request);
	close(sv[1]);
	peer_turns(l, 3);
	MUST(o->ends + o->errors <= 1);
	http_call_free(c);
	peer_turns(l, 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct loop *l;
	struct outcome a, b;

	if (size < 2)
		return 0;
	if (!l)
		l = loop_new();
	struct str in = { (const char *)data + 1, size - 1 < 4096 ? size - 1 : 4096 };
	bool is_head = data[0] & 128;
	listen_to(l, in, in.n, is_head, &a);
	listen_to(l, in, 1u + data[0] % 32, is_head, &b);
	MUST(a.answers == b.answers && a.ends == b.ends && a.errors == b.errors && a.status == b.status);
	MUST(str_eq(buf_view(&a.body), buf_view(&b.body)));
	buf_done(&a.body);
	buf_done(&b.body);
	return 0;
}
