/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: lines are a token, a set of keys and a provider's document; all of it is what the OpenID provider sends,
 * and what the front and atoll-oidc tell each other. No token is taken whose signature is not of a key: the corpus has
 * none. Addresses in a document are of TLS, and nothing in them can be another host. */
#include <string.h>

#include "fuzz.h"
#include "ipc/oidc.h"
#include "ipc/settings.h"
#include "oidc/claims.h"
#include "oidc/jwt.h"
#include "oidc/provider.h"

#define ISSUER "https://id.example"

static void token(struct str text, struct str set)
{
	static const struct oidc_options o = { .oidc_issuer = ISSUER,
		.oidc_client_id = "atoll",
		.oidc_roles = "group:a=admin, *=viewer@t",
		.oidc_user_claim = "email",
		.oidc_groups_claim = "a.groups" };
	struct err e = ERR_INIT;
	struct oi_done done = { 0 };
	struct jwks keys = { 0 };
	struct jwt t = { 0 };

	if (jwks_parse(set, &keys, &e) == 0)
		MUST(keys.n <= JWKS_MAX);
	if (jwt_parse(text, &t, &e) == 0) {
		MUST(strncmp(t.alg, "RS", 2) == 0 || strncmp(t.alg, "PS", 2) == 0 || strncmp(t.alg, "ES", 2) == 0);
		MUST(t.signed_part.n < text.n && t.signature.n > 0 && json_is_object(t.claims));
		MUST(jwt_verify(&t, &keys, &e) < 0);
		(void)claims_check(t.claims, &o, "n", 1000000, &e);
		if (claims_user(t.claims, &o, &done, &e) == 0) {
			done.head = (struct oi_head) { OI_VERSION, OI_DONE, 1 };
			MUST(done.user[0] && strlen(done.user) < sizeof done.user);
		}
	}
	jwt_done(&t);
	jwks_done(&keys);
}

static void document(struct str text)
{
	const struct oi_ask ask = { .state = "s", .nonce = "n", .verifier = "v", .back = "b", .code = "c" };
	const struct oidc_options o = { .oidc_client_id = "atoll", .oidc_scopes = "openid" };
	autobuf struct buf url = BUF_INIT(OI_URL_SIZE);
	struct provider p;
	struct err e = ERR_INIT;

	if (provider_parse(text, ISSUER, &p, &e) < 0)
		return;
	MUST(strncmp(p.token, "https://", 8) == 0 && strncmp(p.keys, "https://", 8) == 0 &&
	    strncmp(p.authorization, "https://", 8) == 0 && !strpbrk(p.authorization, "\r\n @#\\"));
	provider_put_login(&url, &p, &o, &ask);
	MUST(url.bad || strncmp(buf_cstr(&url), p.authorization, strlen(p.authorization)) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str rest = { (const char *)data, size }, rules = rest, bad;
	struct str first = str_cut(&rest, '\n'), second = str_cut(&rest, '\n');
	struct oidc_rule rule;
	struct oi_done done;
	struct oi_ask ask;

	token(first, second);
	document(rest);
	while (oidc_rule_next(&rules, &rule, &bad) == 1)
		MUST(rule.role < OI_ROLES && rule.team.n < OI_TEAM_SIZE && (rule.kind == OIDC_ALL || rule.who.n > 0));
	if (oi_ask_check(data, size, &ask) == 0)
		MUST(strlen(ask.code) < sizeof ask.code);
	if (oi_done_check(data, size, &done) == 0)
		MUST(done.role < OI_ROLES && done.outcome < OI_OUTCOMES);
	return 0;
}
