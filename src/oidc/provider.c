/* SPDX-License-Identifier: Apache-2.0 */
/* oidc/provider: reads the document, writes URLs. */
#include "oidc/provider.h"

#include <errno.h>
#include <openssl/evp.h>
#include <string.h>

#include "base/fd.h"
#include "http/json.h"
#include "http/url.h"
#include "ipc/settings.h"
#include "ipc/webhooks.h"

/* Plain HTTP only if the provider itself is configured with it, which means a loopback address. */
static int read_url(const json_t *o, const char *name, bool needed, const char *issuer, char ret[ENDPOINT_SIZE],
    struct err *e)
{
	const char *url = json_string_value(json_object_get(o, name));
	struct webhook_url u;

	ret[0] = '\0';
	if (!url)
		return needed ? err_set(e, EINVAL, "the provider's document has no %s", name) : 0;
	if (webhook_url_parse(str_of(url), &u, e) < 0)
		return err_wrap(e, "%s in the provider's document", name);
	if (!u.tls && (str_starts(str_of(issuer), "https:") || !oidc_url_is_local(str_of(url))))
		return err_set(e, EINVAL, "%s in the provider's document is without TLS", name);
	if (!str_copy(ret, ENDPOINT_SIZE, str_of(url)))
		return err_set(e, EINVAL, "%s in the provider's document is too long", name);
	return 0;
}

static bool lists(const json_t *o, const char *name, const char *word)
{
	const json_t *one;
	size_t i;

	json_array_foreach(json_object_get(o, name), i, one)
	{
		if (json_is_string(one) && strcmp(json_string_value(one), word) == 0)
			return true;
	}
	return false;
}

int provider_parse(struct str json, const char *issuer, struct provider *ret, struct err *e)
{
	static const char methods[] = "token_endpoint_auth_methods_supported";
	autojson json_t *o = NULL;
	struct err none = ERR_INIT;
	const char *said = NULL;

	*ret = (struct provider) { 0 };
	if (json_read_object(json, false, &o, &none) < 0)
		return err_set(e, EINVAL, "the provider's document is no JSON object");
	/* Otherwise another provider could pass for this one. */
	if (json_need_str(o, "issuer", &said, &none) < 0 || strcmp(said, issuer) != 0)
		return err_set(e, EINVAL, "the provider's document is of the issuer '%.200s', not '%.200s'",
		    said ? said : "", issuer);
	if (read_url(o, "authorization_endpoint", true, issuer, ret->authorization, e) < 0 ||
	    read_url(o, "token_endpoint", true, issuer, ret->token, e) < 0 ||
	    read_url(o, "jwks_uri", true, issuer, ret->keys, e) < 0 ||
	    read_url(o, "userinfo_endpoint", false, issuer, ret->userinfo, e) < 0 ||
	    read_url(o, "end_session_endpoint", false, issuer, ret->end_session, e) < 0)
		return -e->no;
	ret->sends_issuer = json_is_true(json_object_get(o, "authorization_response_iss_parameter_supported"));
	/* client_secret_basic is the default */
	ret->secret_in_body = json_object_get(o, methods) && !lists(o, methods, "client_secret_basic") &&
	    lists(o, methods, "client_secret_post");
	return 0;
}

void provider_put_discovery(struct buf *out, const char *issuer)
{
	struct str base = str_of(issuer);

	while (base.n > 0 && base.p[base.n - 1] == '/')
		base.n--;
	buf_str(out, base);
	buf_z(out, "/.well-known/openid-configuration");
}

static void put(struct buf *out, const char *name, const char *value)
{
	if (out->n > 0)
		buf_ch(out, '&');
	buf_z(out, name);
	buf_ch(out, '=');
	url_encode(out, str_of(value));
}

/* An endpoint may have a query of its own. */
static void put_url(struct buf *out, const char *endpoint, struct buf *query)
{
	buf_z(out, endpoint);
	buf_ch(out, strchr(endpoint, '?') ? '&' : '?');
	buf_str(out, buf_view(query));
	out->bad = out->bad || query->bad;
}

/* base64url(sha256(verifier)) */
static void put_challenge(struct buf *out, const char *verifier)
{
	unsigned char sum[EVP_MAX_MD_SIZE];
	unsigned n = 0;

	if (EVP_Digest(verifier, strlen(verifier), sum, &n, EVP_sha256(), NULL) != 1) {
		out->bad = true;
		return;
	}
	base64_encode(out, (struct str) { (const char *)sum, n }, false);
	for (size_t i = 0; i < out->n; i++)
		out->p[i] = out->p[i] == '+' ? '-' : out->p[i] == '/' ? '_' : out->p[i];
}

void provider_put_login(struct buf *out, const struct provider *p, const struct oidc_options *o,
    const struct oi_ask *ask)
{
	autobuf struct buf query = BUF_INIT(OI_URL_SIZE), challenge = BUF_INIT(64);

	put_challenge(&challenge, ask->verifier);
	put(&query, "response_type", "code");
	put(&query, "client_id", o->oidc_client_id);
	put(&query, "redirect_uri", ask->back);
	put(&query, "scope", o->oidc_scopes);
	put(&query, "state", ask->state);
	put(&query, "nonce", ask->nonce);
	put(&query, "code_challenge", challenge.bad ? "" : buf_cstr(&challenge));
	put(&query, "code_challenge_method", "S256");
	put_url(out, p->authorization, &query);
	out->bad = out->bad || challenge.bad;
}

void provider_put_logout(struct buf *out, const struct provider *p, const struct oidc_options *o, const char *back)
{
	autobuf struct buf query = BUF_INIT(OI_URL_SIZE);

	put(&query, "client_id", o->oidc_client_id);
	put(&query, "post_logout_redirect_uri", back);
	put_url(out, p->end_session, &query);
}

void provider_put_exchange(struct buf *body, struct buf *authorization, const struct provider *p,
    const struct oidc_options *o, struct str secret, const struct oi_ask *ask)
{
	autobuf struct buf pair = BUF_INIT(4096);

	put(body, "grant_type", "authorization_code");
	put(body, "code", ask->code);
	put(body, "redirect_uri", ask->back);
	put(body, "code_verifier", ask->verifier);
	if (secret.n == 0 || p->secret_in_body)
		put(body, "client_id", o->oidc_client_id);
	if (secret.n > 0 && p->secret_in_body) {
		buf_z(body, "&client_secret=");
		url_encode(body, secret);
	} else if (secret.n > 0) {
		url_encode(&pair, str_of(o->oidc_client_id));
		buf_ch(&pair, ':');
		url_encode(&pair, secret);
		buf_z(authorization, "Basic ");
		base64_encode(authorization, buf_view(&pair), true);
		authorization->bad = authorization->bad || pair.bad;
		if (pair.p)
			explicit_bzero(pair.p, pair.n);
	}
}
