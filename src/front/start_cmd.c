/* SPDX-License-Identifier: Apache-2.0 */
/* front/start_cmd: atoll-build start, inside. */
#include "front/start_cmd.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "front/build_impl.h"
#include "front/front.h"
#include "front/init_run.h"
#include "front/mem.h"
#include "http/json.h"

#define WAIT_MAX_S 50u			/* clients wait a minute for an answer */

struct start_cmd {
	struct init_run *run;
	struct buf why;
	void (*fn)(void *user, int no, const char *text);
	void *user;
};

void start_cmd_free(struct start_cmd *s)
{
	if (!s)
		return;
	init_run_free(s->run);
	buf_done(&s->why);
	free(s);
}

static void on_output(void *user, bool is_stderr, struct str data)
{
	struct start_cmd *s = user;

	if (is_stderr)
		buf_str(&s->why, data);
}

static void on_end(void *user, const struct run_end *end)
{
	struct start_cmd *s = user;
	const char *why = s->why.n && buf_cstr(&s->why) ? buf_cstr(&s->why) : end->text;

	s->run = NULL;
	s->fn(s->user, end->no ? end->no : end->refused || end->code ? ECHILD : 0, why);
	start_cmd_free(s);
}

static const struct run_ops ops = { .on_output = on_output, .on_end = on_end };

struct start_cmd *start_cmd_run(struct front *f, const char *id, void (*fn)(void *user, int no, const char *text), void *user)
{
	struct start_cmd *s = must_alloc(sizeof *s);
	uint32_t wait_s = f->opt.ready_timeout_s < WAIT_MAX_S ? f->opt.ready_timeout_s : WAIT_MAX_S;
	autojson json_t *args = json_pack("[s,s,o]", "build", "start", json_sprintf("%u", wait_s));
	struct run_spec sp = {
		.id = id, .request = "", .as_user = "root", .cmd = BUILD_HELPER, .args = args, .cwd = "/", .wait_ms = (wait_s + 5) * 1000ull,
	};

	*s = (struct start_cmd) { .why = BUF_INIT(1024), .fn = fn, .user = user };
	s->run = init_run_new(f, &sp, &ops, s);
	return s;
}
