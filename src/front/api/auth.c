/* SPDX-License-Identifier: Apache-2.0 */
/* front/api/auth: checks the headers of a request against the keyring.
 *
 *	X-Admin-Token: K	an admin key
 *	X-API-Key: K		a key of a team
 *	Authorization: Bearer K	the same, for clients that send only this header
 *	X-Team-ID: T		with an admin key: act for that team */
#include "front/api/auth.h"

#include <string.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/str.h"
#include "front/account/accounts.h"
#include "front/account/keyring.h"
#include "front/api/api.h"
#include "front/link/links.h"
#include "front/proxy/from_here.h"
#include "front/proxy/route.h"
#include "front/util/peer.h"
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

static int act_for(struct api *a, const struct http_req *rq, const struct key *key, struct caller *ret, struct err *e)
{
	struct str wanted = http_header_get(&rq->headers, "x-team-id");
	const struct team *t = key->team;

	if (wanted.n > 0 && key->admin) {
		t = keyring_team(a->account->keyring, wanted);
		if (!t)
			return err_set(e, ENOENT, "team '%.*s' not found", wanted.n < 64 ? (int)wanted.n : 64,
			    wanted.p);
	} else if (wanted.n > 0 && !str_is(wanted, t->id)) {
		return err_set(e, EPERM, "API key is not one of that team");
	}
	memcpy(ret->team, t->id, sizeof ret->team);
	memcpy(ret->key, key->id, sizeof ret->key);
	_Static_assert(sizeof ret->key_name == sizeof key->name, "the name of a key has its room");
	memcpy(ret->key_name, key->name, sizeof ret->key_name);
	ret->admin = key->admin;
	ret->blocked = t->blocked && !key->admin;
	return 0;
}

static int check_key(struct api *a, const struct http_req *rq, struct str secret, bool as_admin, struct caller *ret,
    struct err *e)
{
	uint64_t now = clock_wall_ms();
	struct key *key = keyring_find(a->account->keyring, secret, now);

	if (!key || (as_admin && !key->admin))
		return err_set(e, EACCES, as_admin ? "admin token is not known here" : "API key is not known here");
	key->used = true;
	key->used_ms = now;
	if (act_for(a, rq, key, ret, e) < 0)
		return -e->no;

	uint32_t rate = rate_of(a, key->team);

	if (rate && !bucket_take(&key->rate, rate, clock_mono_ms(), &ret->rate))
		return err_set(e, EDQUOT, "more than %u requests per second", rate);
	return 0;
}

int auth_check(struct api *a, const struct http_req *rq, enum access want, struct caller *ret, struct err *e)
{
	bool as_admin;
	struct str secret = presented_key(&rq->headers, &as_admin);

	*ret = (struct caller) { 0 };
	if (want == ACCESS_OPEN ||
	    (want == ACCESS_METRICS && a->link->opt.metrics_open && host_is_local(rq->host, a->link->opt.domain) &&
		peer_is_here(rq)))
		return 0;
	if (secret.n > 0) {
		if (check_key(a, rq, secret, as_admin, ret, e) < 0)
			return -e->no;
	} else if (a->link->opt.open && request_is_from_here(rq, a->link->opt.domain)) {
		memcpy(ret->team, keyring_default(a->account->keyring)->id, sizeof ret->team);
	} else {
		return err_set(e, EACCES, "no API key: send it in the header X-API-Key");
	}
	if (want != ACCESS_TEAM && !ret->admin)
		return err_set(e, EPERM, "this needs an admin key");
	return 0;
}
