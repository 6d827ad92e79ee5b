/* SPDX-License-Identifier: Apache-2.0 */
/* front/api/console/oidc: logs users of the OpenID provider in to the console. atoll-oidc speaks to the provider. */
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "front/account/accounts.h"
#include "front/account/keyring.h"
#include "front/api/api.h"
#include "front/api/console/login.h"
#include "front/api/handlers.h"
#include "front/api/reply.h"
#include "front/api/request.h"
#include "front/api/wrong_key.h"
#include "front/console/console.h"
#include "front/console/oidc.h"
#include "front/link/links.h"
#include "front/util/mem.h"
#include "http/json.h"
#include "http/server.h"

#define NO_STORE "Cache-Control: no-store\r\n"
#define BACK "/console/oidc" /* a page of the console */

/* The ways to log in, for the page that asks how. */
void api_console_ways(struct req *r)
{
	const struct front_options *o = &r->api->link->opt;

	if (console_is_asked(r))
		reply_json(r, 200,
		    json_pack("{s:b,s:o}", "apiKey", 1, "oidc",
			r->api->console->oidc ? json_pack("{s:s}", "name", o->oidc_name) : json_null()),
		    NO_STORE);
}

static bool is_offered(struct req *r)
{
	if (!console_is_asked(r))
		return false;
	if (!r->api->console->oidc)
		reply_error(r, 404, "no OpenID provider is configured (oidc_issuer)");
	return r->api->console->oidc;
}

/* Answers for an outcome that is not OI_OK, or without one. */
static void send_failure(struct req *r, const struct oi_done *done)
{
	if (!r->http)
		return;
	if (!done) {
		reply_error(r, 503, "atoll-oidc does not answer: log in with an API key, or try again");
		return;
	}
	log_warn("log-in through the OpenID provider failed", "request=%s user='%s' err='%s'", r->id, done->user,
	    done->text);
	switch (done->outcome) {
	case OI_REFUSED:
		wrong_key(r, done->text);
		break;
	case OI_NO_ROLE:
		reply_error(r, 403, "%s", done->text);
		break;
	default:
		reply_error(r, 502, "%s", done->text);
	}
}

/* --- the first half: where to log in -------------------------------------------------------------------------- */

struct begun {
	char state[OI_TOKEN_SIZE];
	char ticket[OIDC_TICKET_MAX];
};

static void on_begin(void *user, const struct oi_done *done)
{
	struct req *r = user;
	const struct begun *b = r->work;

	if (done && done->outcome == OI_OK)
		reply_json(r, 200, json_pack("{s:s,s:s,s:s}", "url", done->url, "state", b->state, "ticket", b->ticket),
		    NO_STORE);
	else
		send_failure(r, done);
	req_unref(r);
}

void api_oidc_begin(struct req *r)
{
	autobuf struct buf back = BUF_INIT(OI_BACK_SIZE - 1), ticket = BUF_INIT(OIDC_TICKET_MAX - 1);
	struct oi_ask ask = { 0 };
	struct begun *b;

	if (!is_offered(r) || !console_put_origin(r, &back))
		return;
	buf_z(&back, BACK);
	(void)str_copy(ask.back, sizeof ask.back, buf_view(&back));
	oidc_ticket_make(r->api->link->vault, &ask, clock_wall_ms(), &ticket);
	if (back.bad || ticket.bad) {
		reply_error(r, 400, "the host name of the request is too long");
		return;
	}
	r->work = b = must_alloc(sizeof *b);
	memcpy(b->state, ask.state, sizeof b->state);
	(void)str_copy(b->ticket, sizeof b->ticket, buf_view(&ticket));
	oidc_ask(r->api->console->oidc, OI_BEGIN, &ask, on_begin, req_ref(r));
	explicit_bzero(&ask, sizeof ask);
}

/* --- the second half: who it is ------------------------------------------------------------------------------- */

static void begin_session(struct req *r, const struct oi_done *done)
{
	struct keyring *kr = r->api->account->keyring;
	struct team *t = *done->team ? keyring_team(kr, str_of(done->team)) : keyring_default(kr);

	_Static_assert((int)OI_VIEWER == (int)ROLE_VIEWER && (int)OI_MEMBER == (int)ROLE_MEMBER &&
		(int)OI_ADMIN == (int)ROLE_ADMIN && sizeof done->user == SESSION_USER_SIZE,
	    "the same on both sides");
	if (!t) {
		log_error("a rule of oidc_roles names a team that does not exist", "team='%s'", done->team);
		reply_error(r, 403, "the team '%s' does not exist: ask the operator to correct oidc_roles", done->team);
		return;
	}
	log_info("log-in through the OpenID provider", "request=%s user='%s' subject='%s'", r->id, done->user,
	    done->subject);
	console_begin(r,
	    &(struct session_who) { .team = t,
		.user = done->user,
		.role = (enum role)done->role,
		.life_ms = r->api->link->opt.oidc_session_s * 1000ull });
}

static void on_finish(void *user, const struct oi_done *done)
{
	struct req *r = user;

	if (!done || done->outcome != OI_OK)
		send_failure(r, done);
	else if (r->http)
		begin_session(r, done);
	req_unref(r);
}

/* Returns -EINVAL, with 400 sent, if a field is missing or too long. */
static int read_answer(struct req *r, const json_t *body, struct oi_ask *ask, const char **ret_state,
    const char **ret_ticket)
{
	const char *code = NULL, *issuer = NULL;
	struct err e;

	if (json_need_str(body, "code", &code, &e) < 0 || json_need_str(body, "state", ret_state, &e) < 0 ||
	    json_need_str(body, "ticket", ret_ticket, &e) < 0 || json_get_str(body, "iss", &issuer, &e) < 0) {
		reply_err(r, &e);
		return -EINVAL;
	}
	if (!str_copy(ask->code, sizeof ask->code, str_of(code)) ||
	    !str_copy(ask->issuer, sizeof ask->issuer, str_of(issuer ? issuer : "")) || !*code) {
		reply_error(r, 400, "fields 'code' and 'iss' are as the provider sent them");
		return -EINVAL;
	}
	for (const char *z = ask->code; *z; z++) {
		if (*z < ' ' || *z > '~')
			*ask->code = '\0';
	}
	for (const char *z = ask->issuer; *z; z++) {
		if (*z < ' ' || *z > '~')
			*ask->code = '\0';
	}
	if (*ask->code)
		return 0;
	reply_error(r, 400, "fields 'code' and 'iss' must be printable");
	return -EINVAL;
}

void api_oidc_finish(struct req *r)
{
	const char *state = NULL, *ticket = NULL;
	struct oi_ask ask = { 0 };
	struct err e;

	if (!is_offered(r))
		return;
	autojson json_t *body = req_json(r, false);

	if (!body || read_answer(r, body, &ask, &state, &ticket) < 0)
		return;
	if (oidc_ticket_open(r->api->link->vault, str_of(ticket), str_of(state), clock_wall_ms(), &ask, &e) < 0)
		wrong_key(r, e.text);
	else
		oidc_ask(r->api->console->oidc, OI_FINISH, &ask, on_finish, req_ref(r));
	explicit_bzero(&ask, sizeof ask);
	explicit_bzero(r->body.p, r->body.n);
}
