/* SPDX-License-Identifier: Apache-2.0 */
/* front/link/init_build: POST /atoll/build of init. */
#include "front/link/init_build.h"

#include <errno.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/fd.h"
#include "front/link/init_call.h"
#include "front/link/links.h"
#include "front/util/mem.h"
#include "http/json.h"

#define BODY_MAX (1024 * 1024)

struct init_build {
	struct init_call *call;
	init_build_fn *fn;
	void *user;
};

void init_build_free(struct init_build *b)
{
	if (!b)
		return;
	init_call_free(b->call);
	free(b);
}

static void on_answer(void *user, const struct init_result *re)
{
	struct init_build b = *(struct init_build *)user;
	autojson json_t *j = NULL;
	bool ok = false;
	const char *text = "its init refuses";
	struct err e = ERR_INIT;

	free(user);
	fd_close(re->fd);
	if (re->no) {
		b.fn(b.user, re->no, re->text);
		return;
	}
	if (re->status != 200 || json_read_object(re->body, false, &j, &e) < 0 || json_get_bool(j, "ok", &ok, &e) < 0 ||
	    json_get_str(j, "text", &text, &e) < 0)
		ok = false;
	b.fn(b.user, ok ? 0 : ECHILD, e.no ? e.text : text);
}

struct init_build *init_build_new(struct links *l, const char *id, json_t *args, uint64_t wait_ms, init_build_fn *fn,
    void *user)
{
	struct init_build *b = must_alloc(sizeof *b);
	autobuf struct buf text = BUF_INIT(BODY_MAX);
	autojson json_t *body = json_pack("{s:o}", "args", args);

	json_put(&text, body);
	struct init_request rq = {
		.id = id,
		.request = "",
		.method = "POST",
		.path = "/atoll/build",
		.body = buf_view(&text),
		.fd = -1,
		.wait_ms = wait_ms,
		.want_body = true,
	};

	*b = (struct init_build) { .fn = fn, .user = user };
	b->call = init_call_new(l, &rq, on_answer, b);
	return b;
}
