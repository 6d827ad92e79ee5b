/* SPDX-License-Identifier: Apache-2.0 */
/* oidc/login: each ask goes from one need to the next: the provider's document, the tokens, its keys, the user's page.
 * advance() does what can be done now, and begins to fetch what is missing. */
#include "oidc/login.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "http/json.h"
#include "ipc/settings.h"
#include "oidc/claims.h"
#include "oidc/fetch.h"
#include "oidc/jwt.h"
#include "oidc/provider.h"

#define KEPT_MS (15 * 60000)
#define AGAIN_MS 5000 /* after a failure, and for keys that were unknown */
#define FORM_MAX 16384
#define STATUS_OK 200

struct document {            /* of the provider */
	struct fetch *fetch; /* under way */
	bool there;
	uint64_t tried_ms;      /* 0: never */
	char why[OI_TEXT_SIZE]; /* of the last failure */
};

struct ask {
	LIST_ENTRY(ask) link;
	struct logins *of;
	struct oi_ask m;
	struct fetch *fetch;
	char *token, *access; /* NULL: none yet */
	json_t *claims;
	bool more_keys; /* they were fetched again for it */
	bool asked_user;
};

struct logins {
	const struct oidc_options *o;
	struct str secret;
	struct fetcher *fetcher;
	login_fn *fn;
	void *user;
	struct document about, keys;
	struct provider provider;
	struct jwks jwks;
	LIST_HEAD(, ask) asks;
	unsigned n_asks;
};

static void advance(struct ask *a);

/* --- the end of an ask --- */

static void ask_free(struct ask *a)
{
	LIST_REMOVE(a, link);
	a->of->n_asks--;
	fetch_cancel(a->fetch);
	if (a->token)
		explicit_bzero(a->token, strlen(a->token));
	if (a->access)
		explicit_bzero(a->access, strlen(a->access));
	free(a->token);
	free(a->access);
	json_decref(a->claims);
	explicit_bzero(&a->m, sizeof a->m);
	free(a);
}

/* Printable: it may have words of the provider. */
static void put_text(char to[OI_TEXT_SIZE], const char *text)
{
	(void)snprintf(to, OI_TEXT_SIZE, "%s", text);
	for (char *z = to; *z; z++) {
		if (*z < ' ' || *z > '~')
			*z = '?';
	}
	memset(to + strlen(to), 0, OI_TEXT_SIZE - strlen(to));
}

static void answer(struct ask *a, struct oi_done *done)
{
	struct logins *l = a->of;

	done->head = (struct oi_head) { OI_VERSION, OI_DONE, a->m.head.seq };
	ask_free(a);
	l->fn(l->user, done);
}

static void fail(struct ask *a, enum oi_outcome outcome, const char *text)
{
	struct oi_done done = { .outcome = outcome };

	put_text(done.text, text);
	answer(a, &done);
}

static void fail_text(struct ask *a, enum oi_outcome outcome, const char *what, const char *why)
{
	char text[OI_TEXT_SIZE];

	(void)snprintf(text, sizeof text, "%s: %s", what, why);
	fail(a, outcome, text);
}

/* --- documents --- */

/* All that wait: an ask waits for a document if it has no fetch of its own. Each may be freed by its turn. */
static void go_on(struct logins *l)
{
	struct ask *a, *next;

	for (a = LIST_FIRST(&l->asks); a; a = next) {
		next = LIST_NEXT(a, link);
		if (!a->fetch)
			advance(a);
	}
}

static void document_failed(struct document *d, const char *what, const char *why)
{
	char text[OI_TEXT_SIZE];

	(void)snprintf(text, sizeof text, "%s: %s", what, why);
	put_text(d->why, text);
	log_warn("cannot use the OpenID provider", "err='%s'", d->why);
}

/* false: it is no document. */
static bool is_document(struct document *d, const char *what, const struct fetch_result *r)
{
	char status[48];

	d->fetch = NULL;
	d->tried_ms = clock_mono_ms();
	if (r->status == STATUS_OK)
		return true;
	(void)snprintf(status, sizeof status, "it answered with status %d", r->status);
	document_failed(d, what, r->status ? status : r->text);
	return false;
}

static void on_about(void *user, const struct fetch_result *r)
{
	struct logins *l = user;
	struct provider p;
	struct err e = ERR_INIT;

	if (is_document(&l->about, "cannot ask the OpenID provider", r)) {
		if (provider_parse(r->body, l->o->oidc_issuer, &p, &e) == 0) {
			l->provider = p;
			l->about.there = true;
		} else {
			document_failed(&l->about, "cannot use the OpenID provider", e.text);
		}
	}
	go_on(l);
}

static void on_keys(void *user, const struct fetch_result *r)
{
	struct logins *l = user;
	struct jwks keys;
	struct err e = ERR_INIT;

	if (is_document(&l->keys, "cannot get the keys of the OpenID provider", r)) {
		if (jwks_parse(r->body, &keys, &e) == 0) {
			jwks_done(&l->jwks);
			l->jwks = keys;
			l->keys.there = true;
			log_info("keys of the OpenID provider", "usable=%zu", keys.n);
		} else {
			document_failed(&l->keys, "cannot use the keys of the OpenID provider", e.text);
		}
	}
	go_on(l);
}

static void get(struct logins *l, struct document *d, const char *url, fetch_fn *fn)
{
	struct fetch_spec sp = { .url = url, .fn = fn, .user = l };

	if (!d->fetch && fetch_begin(l->fetcher, &sp, &d->fetch) < 0) {
		d->tried_ms = clock_mono_ms();
		put_text(d->why, "out of memory");
	}
}

static bool is_older(const struct document *d, uint64_t ms)
{
	return !d->tried_ms || clock_mono_ms() - d->tried_ms >= ms;
}

/* Whether there is one to work with. An old one is kept if it cannot be had anew. */
static bool have(struct ask *a, struct document *d, const char *url, fetch_fn *fn)
{
	struct logins *l = a->of;

	if (d->fetch)
		return false;
	if (d->there && !is_older(d, KEPT_MS))
		return true;
	if (is_older(d, AGAIN_MS))
		get(l, d, url, fn);
	if (d->fetch)
		return false;
	if (d->there)
		return true;
	fail(a, OI_AWAY, d->why);
	return false;
}

static bool have_about(struct ask *a)
{
	autobuf struct buf url = BUF_INIT(OI_URL_SIZE);

	provider_put_discovery(&url, a->of->o->oidc_issuer);
	return have(a, &a->of->about, url.bad ? "" : buf_cstr(&url), on_about);
}

/* --- the tokens --- */

/* The provider's own words for a refusal: {"error": "invalid_grant", "error_description": "..."} */
static void refused(struct ask *a, const struct fetch_result *r)
{
	autojson json_t *o = NULL;
	const char *error = NULL, *text = NULL;
	struct err none = ERR_INIT;
	char why[OI_TEXT_SIZE];

	if (json_read_object(r->body, false, &o, &none) < 0 || json_get_str(o, "error", &error, &none) < 0 ||
	    json_get_str(o, "error_description", &text, &none) < 0 || !error) {
		(void)snprintf(why, sizeof why, "it answered with status %d", r->status);
		fail_text(a, OI_AWAY, "cannot get a token of the OpenID provider", why);
		return;
	}
	(void)snprintf(why, sizeof why, "%.60s%s%.120s", error, text ? ", " : "", text ? text : "");
	/* invalid_client and others are mistakes in the settings, not of the user */
	if (strcmp(error, "invalid_grant") == 0)
		fail_text(a, OI_REFUSED, "the OpenID provider refuses this log-in", why);
	else
		fail_text(a, OI_AWAY, "the OpenID provider refuses atoll", why);
}

static void on_token(void *user, const struct fetch_result *r)
{
	struct ask *a = user;
	autojson json_t *o = NULL;
	const char *id = NULL, *access = NULL;
	struct err e = ERR_INIT;

	a->fetch = NULL;
	if (r->status == 0) {
		fail_text(a, OI_AWAY, "cannot get a token of the OpenID provider", r->text);
		return;
	}
	if (r->status != STATUS_OK) {
		refused(a, r);
		return;
	}
	if (json_read_object(r->body, false, &o, &e) < 0 || json_need_str(o, "id_token", &id, &e) < 0 ||
	    json_get_str(o, "access_token", &access, &e) < 0) {
		fail(a, OI_AWAY, "the OpenID provider sent no ID token (has oidc_scopes the word openid?)");
		return;
	}
	a->token = str_dup(str_of(id));
	a->access = access ? str_dup(str_of(access)) : NULL;
	if (a->token)
		advance(a);
	else
		fail(a, OI_AWAY, "out of memory");
}

static void ask_token(struct ask *a)
{
	struct logins *l = a->of;
	autobuf struct buf body = BUF_INIT(FORM_MAX), authorization = BUF_INIT(FORM_MAX);

	if (a->m.issuer[0] ? strcmp(a->m.issuer, l->o->oidc_issuer) != 0 : l->provider.sends_issuer) {
		fail(a, OI_REFUSED, "the answer is of another OpenID provider");
		return;
	}
	provider_put_exchange(&body, &authorization, &l->provider, l->o, l->secret, &a->m);

	bool bad = body.bad || authorization.bad;
	struct fetch_spec sp = { .url = l->provider.token,
		.post = bad ? "" : buf_cstr(&body),
		.authorization = !bad && authorization.n > 0 ? buf_cstr(&authorization) : NULL,
		.fn = on_token,
		.user = a };

	if (bad || fetch_begin(l->fetcher, &sp, &a->fetch) < 0)
		fail(a, OI_AWAY, "out of memory");
	if (body.p)
		explicit_bzero(body.p, body.n);
	if (authorization.p)
		explicit_bzero(authorization.p, authorization.n);
}

/* --- who it is --- */

static void on_user(void *user, const struct fetch_result *r)
{
	struct ask *a = user;
	autojson json_t *o = NULL;
	struct err e = ERR_INIT;

	a->fetch = NULL;
	/* without it, the rules see what the token says */
	if (r->status != STATUS_OK || json_read_object(r->body, false, &o, &e) < 0)
		log_warn("cannot read the user's page of the OpenID provider", "status=%d err='%s'", r->status,
		    r->status ? "" : r->text);
	else if (claims_add(a->claims, o, &e) < 0) {
		fail(a, OI_REFUSED, e.text);
		return;
	}
	advance(a);
}

/* false: nothing is under way. */
static bool ask_user(struct ask *a)
{
	struct logins *l = a->of;
	autofree char *bearer = NULL;

	if (a->asked_user || !a->access || !l->provider.userinfo[0] || !claims_lack(a->claims, l->o))
		return false;
	a->asked_user = true;
	for (const char *z = a->access; *z; z++) {
		if (*z <= ' ' || *z > '~') /* not a token, and perhaps a header of its own */
			return false;
	}
	bearer = str_fmt("Bearer %s", a->access);

	struct fetch_spec sp = { .url = l->provider.userinfo, .authorization = bearer, .fn = on_user, .user = a };
	bool begun = bearer && fetch_begin(l->fetcher, &sp, &a->fetch) == 0;

	if (bearer)
		explicit_bzero(bearer, strlen(bearer));
	return begun;
}

/* Sets the claims. false: not now, or it has failed. */
static bool verify(struct ask *a)
{
	struct logins *l = a->of;
	struct jwt t = { 0 };
	struct err e = ERR_INIT;
	int r = jwt_parse(str_of(a->token), &t, &e);

	if (r == 0)
		r = jwt_verify(&t, &l->jwks, &e);
	if (r == -ENOENT && !a->more_keys && is_older(&l->keys, AGAIN_MS)) { /* the provider may have new ones */
		jwt_done(&t);
		a->more_keys = true;
		get(l, &l->keys, l->provider.keys, on_keys);
		if (!l->keys.fetch)
			fail(a, OI_AWAY, l->keys.why);
		return false;
	}
	if (r == 0)
		r = claims_check(t.claims, l->o, a->m.nonce, clock_wall_ms() / 1000, &e);
	if (r == 0)
		a->claims = json_incref(t.claims);
	jwt_done(&t);
	if (r < 0)
		fail(a, OI_REFUSED, e.text);
	return r == 0;
}

static void finish(struct ask *a)
{
	struct oi_done done = { .outcome = OI_OK };
	struct err e = ERR_INIT;

	if (!a->token) {
		ask_token(a);
		return;
	}
	if (!have(a, &a->of->keys, a->of->provider.keys, on_keys))
		return;
	if ((!a->claims && !verify(a)) || ask_user(a))
		return;
	int r = claims_user(a->claims, a->of->o, &done, &e);

	if (r < 0)
		fail(a, r == -EPERM ? OI_NO_ROLE : OI_REFUSED, e.text);
	else
		answer(a, &done);
}

static void send_url(struct ask *a)
{
	struct logins *l = a->of;
	autobuf struct buf url = BUF_INIT(OI_URL_SIZE - 1);
	struct oi_done done = { .outcome = OI_OK };

	if (a->m.head.type == OI_BEGIN)
		provider_put_login(&url, &l->provider, l->o, &a->m);
	else if (l->provider.end_session[0])
		provider_put_logout(&url, &l->provider, l->o, a->m.back);
	if (url.bad || !str_copy(done.url, sizeof done.url, buf_view(&url)))
		fail(a, OI_AWAY, "the URL of the OpenID provider is too long");
	else
		answer(a, &done);
}

static void advance(struct ask *a)
{
	if (!have_about(a))
		return;
	if (a->m.head.type == OI_FINISH)
		finish(a);
	else
		send_url(a);
}

void login_ask(struct logins *l, const struct oi_ask *m)
{
	struct ask *a = l->n_asks < OI_ASKS_MAX ? calloc(1, sizeof *a) : NULL;

	if (!a) {
		struct oi_done done = { .head = { OI_VERSION, OI_DONE, m->head.seq }, .outcome = OI_AWAY };

		put_text(done.text, "too many log-ins at once");
		l->fn(l->user, &done);
		return;
	}
	a->of = l;
	a->m = *m;
	LIST_INSERT_HEAD(&l->asks, a, link);
	l->n_asks++;
	advance(a);
}

void logins_drop_all(struct logins *l)
{
	while (!LIST_EMPTY(&l->asks))
		ask_free(LIST_FIRST(&l->asks));
}

int logins_new(const struct oidc_options *o, struct str secret, struct fetcher *f, login_fn *fn, void *user,
    struct logins **ret)
{
	struct logins *l = calloc(1, sizeof *l);

	if (!l)
		return -ENOMEM;
	*l = (struct logins) { .o = o, .secret = secret, .fetcher = f, .fn = fn, .user = user };
	LIST_INIT(&l->asks);
	*ret = l;
	return 0;
}

void logins_free(struct logins *l)
{
	if (!l)
		return;
	logins_drop_all(l);
	fetch_cancel(l->about.fetch);
	fetch_cancel(l->keys.fetch);
	jwks_done(&l->jwks);
	free(l);
}
