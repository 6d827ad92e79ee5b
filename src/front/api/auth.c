/* SPDX-License-Identifier: Apache-2.0 */
/* front/api/auth: checks the headers of a request against the keyring.
 *
 *	X-Admin-Token: K	an admin key
 *	X-API-Key: K		a key of a team
 *	Authorization: Bearer K	the same, for clients that send only this header
 *	X-Team-ID: T		with an admin key: act for that team
 *	Cookie, X-Atoll-Console	a session of the console, from a page of this server */
#include "front/api/auth.h"

#include <string.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/str.h"
#include "front/account/accounts.h"
#include "front/account/keyring.h"
#include "front/api/api.h"
#include "front/console/console.h"
#include "front/link/links.h"
#include "front/proxy/from_here.h"
#include "front/proxy/route.h"
#include "front/util/origin.h"
#include "front/util/peer.h"
#include "front/util/session_cookie.h"
#include "http/server.h"

static struct str presented_key(const struct http_headers *h, bool *ret_as_admin)
{
	struct str key = http_header_get(h, "x-admin-token");

	*ret_as_admin = key.n > 0;
	if (key.n > 0)
		return key;
	key = http_header_get(h, "x-api-key");
	if (key.n > 0)
		return key;

	struct str bearer = http_header_get(h, "authorization");
	struct str scheme = str_cut(&bearer, ' ');

	return str_ieq(scheme, STR_LIT("bearer")) && bearer.p ? str_trim(bearer) : STR_NULL;
}

struct str auth_presented_key(const struct http_req *rq)
{
	bool as_admin;

	return presented_key(&rq->headers, &as_admin);
}

static uint32_t rate_of(const struct api *a, const struct team *t)
{
	return t->rate_limit == LIMIT_DEFAULT ? a->link->opt.rate_limit : (uint32_t)t->rate_limit;
}

/* key: NULL for a session without one. */
static int act_for(struct api *a, const struct http_req *rq, const struct team *t, const struct key *key, bool admin,
    struct caller *ret, struct err *e)
{
	struct str wanted = http_header_get(&rq->headers, "x-team-id");

	if (wanted.n > 0 && admin) {
		t = keyring_team(a->account->keyring, wanted);
		if (!t)
			return err_set(e, ENOENT, "team '%.*s' not found", wanted.n < 64 ? (int)wanted.n : 64,
			    wanted.p);
	} else if (wanted.n > 0 && !str_is(wanted, t->id)) {
		return err_set(e, EPERM, "API key is not one of that team");
	}
	memcpy(ret->team, t->id, sizeof ret->team);
	_Static_assert(sizeof ret->key_name == sizeof key->name, "the name of a key has its room");
	if (key) {
		memcpy(ret->key, key->id, sizeof ret->key);
		memcpy(ret->key_name, key->name, sizeof ret->key_name);
	}
	ret->admin = admin;
	ret->role = admin ? ROLE_ADMIN : ROLE_MEMBER;
	ret->blocked = t->blocked && !admin;
	return 0;
}

static int take_rate(struct api *a, const struct team *t, struct bucket *of, struct caller *ret, struct err *e)
{
	uint32_t rate = rate_of(a, t);

	if (rate && !bucket_take(of, rate, clock_mono_ms(), &ret->rate))
		return err_set(e, EDQUOT, "more than %u requests per second", rate);
	return 0;
}

static int check_key(struct api *a, const struct http_req *rq, struct str secret, bool as_admin, struct caller *ret,
    struct key **ret_key, struct err *e)
{
	uint64_t now = clock_wall_ms();
	struct key *key = keyring_find(a->account->keyring, secret, now);

	if (!key || (as_admin && !key->admin))
		return err_set(e, EACCES, as_admin ? "admin token is not known here" : "API key is not known here");
	key->used = true;
	key->used_ms = now;
	*ret_key = key;
	if (act_for(a, rq, key->team, key, key->admin, ret, e) < 0)
		return -e->no;
	return take_rate(a, key->team, &key->rate, ret, e);
}

int auth_key(struct api *a, const struct http_req *rq, struct str secret, struct caller *ret, struct key **ret_key,
    struct err *e)
{
	*ret = (struct caller) { 0 };
	return check_key(a, rq, secret, false, ret, ret_key, e);
}

/* --- sessions of the console ---------------------------------------------------------------------------------- */

/* The pair of sockets with atoll-agent: nobody else can connect to it. */
static bool is_agent(const struct http_req *rq)
{
	struct sockaddr_storage from;

	return http_peer(rq, &from) == 0 && from.ss_family == AF_UNIX;
}

struct session *auth_session(struct api *a, const struct http_req *rq, struct err *e)
{
	bool is_secure = browser_is_secure(rq);
	struct str token;
	size_t n = session_cookie_find(&rq->headers, is_secure, &token);
	struct session *se;

	if (!a->console->sessions) {
		(void)err_set(e, EACCES, "there is no console here (console = false)");
		return NULL;
	}
	if (!http_header_get(&rq->headers, CONSOLE_HEADER).p || !origin_is_own(rq, is_secure)) {
		(void)err_set(e, EPERM, "only pages of this server's console may do this");
		return NULL;
	}
	/* With two, one is of another host name of the domain, as the page of a sandbox can set it. */
	se = n == 1 ? session_find(a->console->sessions, token, clock_wall_ms()) : NULL;
	if (!se)
		(void)err_set(e, EACCES,
		    n > 1 ? "two console sessions in one request: remove the cookies of this site"
			  : "not logged in, or the console session is over");
	return se;
}

static int act_as(struct api *a, const struct http_req *rq, struct session *se, struct caller *ret, struct err *e)
{
	struct str mark = http_header_get(&rq->headers, CONSOLE_HEADER);
	uint64_t now = clock_wall_ms();
	struct team *t;
	struct key *key;

	if (!session_owner(a->console->sessions, se, a->account->keyring, now, &t, &key))
		return err_set(e, EACCES, "the console session is over: its API key or team is not valid any more");
	if (act_for(a, rq, t, key, se->role == ROLE_ADMIN && (!key || key->admin), ret, e) < 0)
		return -e->no;
	if (se->role == ROLE_VIEWER)
		ret->role = ROLE_VIEWER;
	memcpy(ret->session, se->id, sizeof ret->session);
	memcpy(ret->user, se->user, sizeof ret->user);
	if (!str_ieq(mark, STR_LIT("poll")))
		session_touch(se, now);
	return take_rate(a, t, key ? &key->rate : &se->rate, ret, e);
}

void auth_put_session_key(const struct http_req *rq, struct buf *out)
{
	struct str token;

	if (http_header_get(&rq->headers, CONSOLE_HEADER).p &&
	    session_cookie_find(&rq->headers, browser_is_secure(rq), &token) == 1)
		buf_fmt(out, SESSION_KEY_PREFIX "%.*s", STR_ARG(token));
}

/* -EACCES: it is none of atoll-agent, or the session is over. */
static int check_agent(struct api *a, const struct http_req *rq, struct str secret, struct caller *ret, struct err *e)
{
	struct session *se = NULL;

	str_skip(&secret, strlen(SESSION_KEY_PREFIX));
	if (is_agent(rq) && a->console->sessions)
		se = session_find(a->console->sessions, secret, clock_wall_ms());
	return se ? act_as(a, rq, se, ret, e) : err_set(e, EACCES, "API key is not known here");
}

int auth_check(struct api *a, const struct http_req *rq, enum access want, struct caller *ret, struct err *e)
{
	bool as_admin;
	struct str secret = presented_key(&rq->headers, &as_admin);
	struct key *key;

	*ret = (struct caller) { 0 };
	if (want == ACCESS_OPEN ||
	    (want == ACCESS_METRICS && a->link->opt.metrics_open && host_is_local(rq->host, a->link->opt.domain) &&
		peer_is_here(rq)))
		return 0;
	if (str_starts(secret, SESSION_KEY_PREFIX)) {
		if (check_agent(a, rq, secret, ret, e) < 0)
			return -e->no;
	} else if (secret.n > 0) {
		if (check_key(a, rq, secret, as_admin, ret, &key, e) < 0)
			return -e->no;
	} else if (http_header_get(&rq->headers, CONSOLE_HEADER).p) {
		struct session *se = auth_session(a, rq, e);

		if (!se || act_as(a, rq, se, ret, e) < 0)
			return -e->no;
	} else if (a->link->opt.open && request_is_from_here(rq, a->link->opt.domain)) {
		memcpy(ret->team, keyring_default(a->account->keyring)->id, sizeof ret->team);
		ret->role = ROLE_MEMBER;
	} else {
		return err_set(e, EACCES, "no API key: send it in the header X-API-Key");
	}
	if (want != ACCESS_TEAM && !ret->admin)
		return err_set(e, EPERM, "this needs an admin key");
	return 0;
}
