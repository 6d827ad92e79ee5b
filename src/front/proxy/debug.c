/* SPDX-License-Identifier: Apache-2.0 */
/* front/proxy/debug: one sandbox behind two fixed ports. */
#include "front/proxy/debug.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "front/account/keyring.h"
#include "front/front.h"
#include "front/proxy/error.h"
#include "front/proxy/proxy.h"
#include "front/sandbox/sandbox.h"
#include "front/sandbox/spec.h"
#include "front/sandbox/table.h"
#include "front/sandbox/warm_pool.h"
#include "front/util/mem.h"
#include "front/util/request_id.h"
#include "http/json.h"
#include "http/server.h"

#define TEMPLATE "code-interpreter-v1"

struct gate { /* one of the two ports */
	struct debug *d;
	uint16_t port;
	struct http_server *server; /* NULL: not listening */
};

struct debug {
	struct front *f;
	char id[ID_SIZE]; /* id of the sandbox; "": not known */
	struct gate gates[2];
};

static bool is_it(const struct sandbox *sb)
{
	return (sb->spec.flags & SPEC_DEBUG) && !sandbox_gone(sb);
}

/* The existing one, also if an earlier front has created it. */
static struct sandbox *find(struct debug *d)
{
	struct sandbox *sb = *d->id ? sandbox_table_find(d->f->sandbox.table, str_of(d->id)) : NULL;

	if (sb && is_it(sb))
		return sb;
	for (sb = sandbox_table_next(d->f->sandbox.table, NULL); sb && !is_it(sb);)
		sb = sandbox_table_next(d->f->sandbox.table, sb);
	if (sb)
		memcpy(d->id, sb->id, sizeof d->id);
	return sb;
}

const char *debug_id(struct debug *d)
{
	return d && find(d) ? d->id : NULL;
}

static struct sandbox *make(struct debug *d, const char *request, struct err *e)
{
	struct front *f = d->f;
	autojson json_t *body = json_pack("{s:s,s:I,s:{s:b},s:{s:s}}", "templateID", TEMPLATE, "timeout",
	    (json_int_t)f->link.opt.max_timeout_s, "autoResume", "enabled", 1, "metadata", "debug", "true");
	struct warm_pool_gift gift;
	struct sandbox *sb;
	struct spec sp;

	if (sandbox_table_count(f->sandbox.table) >= f->sandbox.max_sandboxes) {
		(void)err_set(e, EDQUOT, "the server's maximum of %u sandboxes is reached", f->sandbox.max_sandboxes);
		return NULL;
	}
	const char *team = keyring_default(f->account.keyring)->id;

	if (spec_parse(f, team, body, SPEC_V1, &sp, e) < 0 || spec_limits(f, team, "", body, &sp, e) < 0)
		return NULL;
	sp.flags |= SPEC_DEBUG;
	bool warm = warm_pool_take(f->sandbox.warm_pool, &sp, &gift);

	if (sandbox_new(f, keyring_default(f->account.keyring)->id, "", &sp, warm ? &gift : NULL, &sb, e) < 0)
		return NULL;
	memcpy(d->id, sb->id, sizeof d->id);
	sandbox_by(sb, request);
	log_info("starting the sandbox of the debug ports", "id=%s request=%s", sb->id, request);
	if (warm)
		sandbox_start_warm(sb);
	else
		sandbox_start_cold(sb);
	return sb;
}

static void on_request(void *user, struct http_req *rq)
{
	struct gate *g = user;
	struct debug *d = g->d;
	char request[REQUEST_ID_SIZE];
	struct sandbox *sb;
	struct err e;

	if (d->f->link.stopping)
		http_close_after(rq);
	if (!auth_is_from_here(d->f, rq)) {
		proxy_refuse(rq, 403, STR_LIT("debug"), g->port,
		    "The debug ports are for programs of this machine only");
		return;
	}
	sb = find(d);
	if (!sb) {
		request_id(rq, request);
		sb = make(d, request, &e);
	}
	if (sb) {
		proxy_pass(sb, rq, g->port); /* waits until it has started */
	} else {
		log_error("could not start the sandbox of the debug ports", "err=%s", e.text);
		proxy_refuse(rq, e.no == EDQUOT ? 429 : 502, STR_LIT("debug"), g->port,
		    "The sandbox of the debug ports could not be made");
	}
}

static const struct http_server_ops gate_ops = { .on_request = on_request };

static struct gate *gate_of(struct debug *d, uint16_t port)
{
	for (size_t i = 0; i < ARRAY_LEN(d->gates); i++) {
		struct gate *g = &d->gates[i];

		if (!g->server) {
			*g = (struct gate) { .d = d,
				.port = port,
				.server = http_server_new(d->f->link.loop, -1, &gate_ops, g) };
			return g->server ? g : NULL;
		}
		if (g->port == port)
			return g;
	}
	return NULL;
}

int debug_listen(struct front *f, uint16_t port, int fd)
{
	struct gate *g;

	if (!f->proxy.debug) {
		f->proxy.debug = must_alloc(sizeof *f->proxy.debug);
		f->proxy.debug->f = f;
	}
	g = gate_of(f->proxy.debug, port);
	if (!g) {
		fd_close(fd);
		return -ENOMEM;
	}
	http_server_limit(g->server, links_max_debug_conns(&f->link));
	http_server_head_timeout(g->server, f->link.opt.head_timeout_s * 1000ull);
	return http_server_listen(g->server, fd, NULL);
}

/* It has a timeout like any other, which is extended when half of it is over. */
void debug_tick(struct debug *d)
{
	struct sandbox *sb = d ? find(d) : NULL;
	uint64_t half_ms;

	if (!sb || sb->state != SANDBOX_RUNNING)
		return;
	half_ms = d->f->link.opt.max_timeout_s * 500ull;
	if (sb->end_ms < clock_wall_ms() + half_ms)
		sandbox_set_timeout(sb, d->f->link.opt.max_timeout_s, true);
}

void debug_stop_accepting(struct debug *d)
{
	for (size_t i = 0; d && i < ARRAY_LEN(d->gates); i++) {
		if (d->gates[i].server)
			http_server_stop_accepting(d->gates[i].server);
	}
}

void debug_free(struct debug *d)
{
	for (size_t i = 0; d && i < ARRAY_LEN(d->gates); i++)
		http_server_free(d->gates[i].server);
	free(d);
}
