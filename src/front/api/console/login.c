/* SPDX-License-Identifier: Apache-2.0 */
/* front/api/console/login: logs browsers in to the console and out of it. */
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "front/account/accounts.h"
#include "front/account/keyring.h"
#include "front/api/api.h"
#include "front/api/console/login.h"
#include "front/api/handlers.h"
#include "front/api/reply.h"
#include "front/api/request.h"
#include "front/api/wrong_key.h"
#include "front/console/codes.h"
#include "front/console/console.h"
#include "front/console/oidc.h"
#include "front/console/serve.h"
#include "front/link/links.h"
#include "front/sandbox/spec.h"
#include "front/util/origin.h"
#include "front/util/session_cookie.h"
#include "front/util/time_json.h"
#include "http/json.h"
#include "http/server.h"

#define LINK_DEFAULT_S 300
#define LINK_MIN_S 10
#define LINK_MAX_S 3600
#define NO_STORE "Cache-Control: no-store\r\n"

static const char *const role_names[] = { [ROLE_VIEWER] = "viewer", [ROLE_MEMBER] = "member", [ROLE_ADMIN] = "admin" };

/* --- what a session looks like -------------------------------------------------------------------------------- */

static json_t *url_json(const struct req *r)
{
	autobuf struct buf url = BUF_INIT(512);

	buf_fmt(&url, "%s://{port}-{id}.", browser_is_secure(r->http) ? "https" : "http");
	size_t scheme = url.n;

	console_port_domain(r->api->console, r->http, &url);
	return url.n > scheme && !url.bad ? json_stringn(url.p, url.n) : json_null();
}

static json_t *key_json_of(const struct key *k)
{
	return k ? json_pack("{s:s,s:s,s:s+}", "id", k->id, "name", k->name, "prefix", KEY_PREFIX, k->head)
		 : json_null();
}

static json_t *session_json(const struct req *r, const struct session *se, const struct team *t, const struct key *k)
{
	const struct api *a = r->api;
	const struct front_options *o = &a->link->opt;
	enum role role = se->role == ROLE_ADMIN && k && !k->admin ? ROLE_MEMBER : se->role;

	return json_pack("{s:s,s:{s:s,s:s},s:s,s:o,s:o,s:{s:s,s:o,s:o},s:o,s:o,s:I}", "id", se->id, "team", "id", t->id,
	    "name", t->name, "role", role_names[role], "user", *se->user ? json_string(se->user) : json_null(), "key",
	    key_json_of(k), "server", "version", ATOLL_VERSION, "domain",
	    *o->domain && !o->domain_is_default ? json_string(o->domain) : json_null(), "sandboxUrl", url_json(r),
	    "expiresAt", time_json(se->expires_ms), "endsAt", time_json(session_ends_ms(a->console->sessions, se)),
	    "idleSeconds", (json_int_t)o->console_idle_s);
}

static void send_session(struct req *r, int status, const struct session *se, const struct team *t, const struct key *k,
    const char *token)
{
	autobuf struct buf headers = BUF_INIT(512);

	buf_z(&headers, NO_STORE);
	if (token)
		session_cookie_put(&headers, token, browser_is_secure(r->http));
	reply_json(r, status, session_json(r, se, t, k), buf_cstr(&headers));
	if (headers.p)
		explicit_bzero(headers.p, headers.n);
}

bool console_put_origin(struct req *r, struct buf *out)
{
	static const char ok[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._:[]";
	struct str host = r->http->host;
	size_t i = 0;

	while (i < host.n && strchr(ok, host.p[i]))
		i++;
	buf_z(out, browser_is_secure(r->http) ? "https://" : "http://");
	buf_str(out, host);
	if (host.n > 0 && i == host.n && !out->bad)
		return true;
	reply_error(r, 400, "the host name of the request is malformed");
	return false;
}

/* --- log in --------------------------------------------------------------------------------------------------- */

bool console_is_asked(struct req *r)
{
	if (!r->api->console->sessions) {
		reply_error(r, 404, "there is no console here (console = false)");
		return false;
	}
	if (!http_header_get(&r->http->headers, CONSOLE_HEADER).p ||
	    !origin_is_own(r->http, browser_is_secure(r->http))) {
		reply_error(r, 403, "only pages of this server's console may do this");
		return false;
	}
	return true;
}

/* The role that the body asks for, at most `most`. -EINVAL: sent 400 or 403. */
static int read_role(struct req *r, const json_t *body, enum role most, enum role *ret)
{
	const char *name = NULL;
	size_t i = 0;
	struct err e;

	*ret = most;
	if (json_get_str(body, "role", &name, &e) < 0) {
		reply_err(r, &e);
		return -EINVAL;
	}
	if (!name)
		return 0;
	while (i < ARRAY_LEN(role_names) && strcmp(role_names[i], name) != 0)
		i++;
	if (i == ARRAY_LEN(role_names)) {
		reply_error(r, 400, "field 'role' must be viewer, member or admin");
		return -EINVAL;
	}
	if ((enum role)i > most) {
		reply_error(r, 403, "this key may log in as %s at most", role_names[most]);
		return -EPERM;
	}
	*ret = (enum role)i;
	return 0;
}

/* A browser that logs in again has a new token; the old one is of no use any more. */
static void end_earlier(struct req *r)
{
	struct err e;
	struct session *se = auth_session(r->api, r->http, &e);

	if (se)
		session_end(r->api->console->sessions, se, "logged in again");
}

void console_begin(struct req *r, const struct session_who *who)
{
	const struct team *t = who->team;
	const struct key *key = who->key;
	struct sessions *all = r->api->console->sessions;
	char token[TOKEN_SIZE];
	struct session *se;
	struct err e;

	if (t->blocked && !(key && key->admin)) {
		reply_error(r, 403, "team is blocked");
		return;
	}
	end_earlier(r);
	if (session_make(all, who, clock_wall_ms(), token, &se, &e) < 0) {
		log_error("could not record a console session", "request=%s err=%s", r->id, e.text);
		reply_error(r, 500, "could not record the session");
		return;
	}
	memcpy(r->caller.session, se->id, sizeof r->caller.session);
	memcpy(r->caller.user, se->user, sizeof r->caller.user);
	memcpy(r->caller.team, t->id, sizeof r->caller.team);
	memcpy(r->caller.key, se->key, sizeof r->caller.key);
	log_info("console session begun", "request=%s session=%s key=%s user='%s' role=%s", r->id, se->id,
	    *se->key ? se->key : "none", se->user, role_names[se->role]);
	send_session(r, 200, se, t, key, token);
	explicit_bzero(token, sizeof token);
}

static void login_by_key(struct req *r, const json_t *body, const char *secret)
{
	autofree char *retry = NULL;
	struct key *key = NULL;
	enum role role;
	struct err e;

	switch (auth_key(r->api, r->http, str_of(secret), &r->caller, &key, &e)) {
	case 0:
		break;
	case -EACCES:
		wrong_key(r, e.text);
		return;
	case -EDQUOT:
		r->is_rate = true;
		retry = str_fmt("Retry-After: %u\r\n", r->caller.rate.retry_s);
		reply_json(r, 429, json_pack("{s:i,s:s}", "code", 429, "message", e.text), retry);
		return;
	default:
		reply_err(r, &e);
		return;
	}
	if (read_role(r, body, key->admin ? ROLE_ADMIN : ROLE_MEMBER, &role) == 0)
		console_begin(r, &(struct session_who) { .team = key->team, .key = key, .user = "", .role = role });
}

static void login_by_code(struct req *r, const char *code)
{
	struct keyring *kr = r->api->account->keyring;
	struct login_code of;
	struct key *key = NULL;

	if (login_code_take(r->api->console->codes, str_of(code), clock_mono_ms(), &of))
		key = keyring_key(kr, keyring_team(kr, str_of(of.team)), str_of(of.key));
	if (!key || (key->expires_ms && key->expires_ms <= clock_wall_ms()) || (of.role == ROLE_ADMIN && !key->admin)) {
		wrong_key(r, "log-in link was used already, is too old, or is not of this server");
		return;
	}
	console_begin(r, &(struct session_who) { .team = key->team, .key = key, .user = "", .role = of.role });
}

void api_console_login(struct req *r)
{
	const char *secret = NULL, *code = NULL;
	struct err e;

	if (!console_is_asked(r))
		return;
	autojson json_t *body = req_json(r, false);

	if (!body)
		return;
	if (json_get_str(body, "apiKey", &secret, &e) < 0 || json_get_str(body, "link", &code, &e) < 0)
		reply_err(r, &e);
	else if (!secret == !code)
		reply_error(r, 400, "either 'apiKey' or 'link' is needed");
	else if (secret)
		login_by_key(r, body, secret);
	else
		login_by_code(r, code);
	if (r->body.p) /* it has the key */
		explicit_bzero(r->body.p, r->body.n);
}

/* --- log out, look -------------------------------------------------------------------------------------------- */

/* url: where the provider's session is ended, too; NULL: nowhere. */
static void send_logged_out(struct req *r, bool ended, const char *url)
{
	autobuf struct buf headers = BUF_INIT(512);

	buf_z(&headers, NO_STORE);
	if (r->http)
		session_cookie_put(&headers, "", browser_is_secure(r->http));
	reply_json(r, 200, json_pack("{s:b,s:s?}", "ended", ended, "url", url), buf_cstr(&headers));
}

static void on_logout_url(void *user, const struct oi_done *done)
{
	struct req *r = user;

	send_logged_out(r, true, done && done->outcome == OI_OK && *done->url ? done->url : NULL);
	req_unref(r);
}

void api_console_logout(struct req *r)
{
	autobuf struct buf back = BUF_INIT(OI_BACK_SIZE - 1);
	struct oi_ask ask = { 0 };
	struct session *se;
	bool of_provider;
	struct err e;

	if (!console_is_asked(r))
		return;
	se = auth_session(r->api, r->http, &e);
	of_provider = se && !*se->key && r->api->console->oidc;
	if (se) {
		memcpy(r->caller.session, se->id, sizeof r->caller.session);
		memcpy(r->caller.user, se->user, sizeof r->caller.user);
		memcpy(r->caller.team, se->team, sizeof r->caller.team);
		memcpy(r->caller.key, se->key, sizeof r->caller.key);
		session_end(r->api->console->sessions, se, "logged out");
	}
	if (of_provider && console_put_origin(r, &back)) {
		buf_z(&back, "/console/");
		(void)str_copy(ask.back, sizeof ask.back, buf_view(&back));
		oidc_ask(r->api->console->oidc, OI_END, &ask, on_logout_url, req_ref(r));
	} else {
		send_logged_out(r, se != NULL, NULL);
	}
}

void api_console_session(struct req *r)
{
	struct api *a = r->api;
	struct session *se;
	struct team *t;
	struct key *key;
	struct err e;

	if (!console_is_asked(r))
		return;
	se = auth_session(a, r->http, &e);
	if (se && session_owner(a->console->sessions, se, a->account->keyring, clock_wall_ms(), &t, &key))
		send_session(r, 200, se, t, key, NULL);
	else
		reply_json(r, 401,
		    json_pack("{s:i,s:s}", "code", 401, "message",
			se ? "the console session is over: its API key or team is not valid any more" : e.text),
		    NO_STORE);
}

/* --- links ---------------------------------------------------------------------------------------------------- */

void api_console_link(struct req *r)
{
	struct api *a = r->api;
	struct login_code of = { 0 };
	int64_t seconds = LINK_DEFAULT_S;
	char code[TOKEN_SIZE];
	bool given;
	struct err e;

	if (!a->console->sessions) {
		reply_error(r, 404, "there is no console here (console = false)");
		return;
	}
	autojson json_t *body = req_json(r, true);

	if (!body || read_role(r, body, r->caller.role, &of.role) < 0)
		return;
	if (field_int(body, "seconds", LINK_MIN_S, LINK_MAX_S, &seconds, &given, &e) < 0) {
		reply_err(r, &e);
		return;
	}
	if (!*r->caller.key) {
		reply_error(r, 403, "a log-in link needs an API key");
		return;
	}
	struct keyring *kr = a->account->keyring;
	const struct key *key = keyring_next_key(kr, NULL);

	while (key && strcmp(key->id, r->caller.key) != 0)
		key = keyring_next_key(kr, (struct key *)key);
	if (!key) {
		reply_error(r, 401, "API key is not known here");
		return;
	}
	memcpy(of.team, key->team->id, sizeof of.team);
	memcpy(of.key, key->id, sizeof of.key);
	login_code_make(a->console->codes, &of, clock_mono_ms() + (uint64_t)seconds * 1000, code);
	log_info("console log-in link made", "request=%s key=%s role=%s seconds=%lld", r->id, of.key,
	    role_names[of.role], (long long)seconds);
	reply_json(r, 201,
	    json_pack("{s:s,s:s+,s:s,s:o}", "code", code, "path", "/console/#login=", code, "role", role_names[of.role],
		"expiresAt", time_json(clock_wall_ms() + (uint64_t)seconds * 1000)),
	    NO_STORE);
	explicit_bzero(code, sizeof code);
}
