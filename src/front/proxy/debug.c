/* SPDX-License-Identifier: Apache-2.0 */
/* front/proxy/debug: one sandbox behind two fixed ports. */
#include "front/proxy/debug.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "front/account/accounts.h"
#include "front/account/keyring.h"
#include "front/link/links.h"
#include "front/proxy/error.h"
#include "front/proxy/from_here.h"
#include "front/proxy/proxies.h"
#include "front/proxy/proxy.h"
#include "front/sandbox/life.h"
#include "front/sandbox/sandbox.h"
#include "front/sandbox/sandboxes.h"
#include "front/sandbox/spec.h"
#include "front/sandbox/start.h"
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
	struct proxies *proxies;
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
	struct sandbox *sb = *d->id ? sandbox_table_find(d->proxies->sandbox->table, str_of(d->id)) : NULL;

	if (sb && is_it(sb))
		return sb;
	for (sb = sandbox_table_next(d->proxies->sandbox->table, NULL); sb && !is_it(sb);)
		sb = sandbox_table_next(d->proxies->sandbox->table, sb);
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
	struct proxies *p = d->proxies;
	autojson json_t *body = json_pack("{s:s,s:I,s:{s:b},s:{s:s}}", "templateID", TEMPLATE, "timeout",
	    (json_int_t)p->link->opt.max_timeout_s, "autoResume", "enabled", 1, "metadata", "debug", "true");
	struct warm_pool_gift gift;
	struct sandbox *sb;
	struct spec sp;

	if (sandbox_table_count(p->sandbox->table) >= p->sandbox->max_sandboxes) {
		(void)err_set(e, EDQUOT, "the server's maximum of %u sandboxes is reached", p->sandbox->max_sandboxes);
		return NULL;
	}
	const char *team = keyring_default(p->account->keyring)->id;

	if (spec_parse(p->sandbox, team, body, SPEC_V1, &sp, e) < 0 ||
	    spec_limits(p->sandbox, team, "", body, &sp, e) < 0 ||
	    spec_engine_pick(p->sandbox, team, "", body, &sp, e) < 0)
		return NULL;
	sp.flags |= SPEC_DEBUG;
	bool warm = warm_pool_take(p->sandbox->warm_pool, &sp, &gift);

	if (sandbox_new(p->sandbox, keyring_default(p->account->keyring)->id, "", &sp, warm ? &gift : NULL, &sb, e) < 0)
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

	if (d->proxies->link->stopping)
		http_close_after(rq);
	if (!request_is_from_here(rq, d->proxies->link->opt.domain)) {
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
		proxy_pass(d->proxies, sb, rq, g->port); /* waits until it has started */
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
				.server = http_server_new(d->proxies->link->loop, -1, &gate_ops, g) };
			return g->server ? g : NULL;
		}
		if (g->port == port)
			return g;
	}
	return NULL;
}

int debug_listen(struct proxies *p, uint16_t port, int fd)
{
	struct gate *g;

	if (!p->debug) {
		p->debug = must_alloc(sizeof *p->debug);
		p->debug->proxies = p;
	}
	g = gate_of(p->debug, port);
	if (!g) {
		fd_close(fd);
		return -ENOMEM;
	}
	http_server_limit(g->server, links_max_debug_conns(p->link));
	http_server_head_timeout(g->server, p->link->opt.head_timeout_s * 1000ull);
	return http_server_listen(g->server, fd, NULL);
}

/* It has a timeout like any other, which is extended when half of it is over. */
void debug_tick(struct debug *d)
{
	struct sandbox *sb = d ? find(d) : NULL;
	uint64_t half_ms;

	if (!sb || sb->state != SANDBOX_RUNNING)
		return;
	half_ms = d->proxies->link->opt.max_timeout_s * 500ull;
	if (sb->end_ms < clock_wall_ms() + half_ms)
		sandbox_set_timeout(sb, d->proxies->link->opt.max_timeout_s, true);
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
