/* SPDX-License-Identifier: Apache-2.0 */
/* oidc/claims: checks of times and names, and the rules. */
#include "oidc/claims.h"

#include <errno.h>
#include <string.h>

#include "base/fd.h"
#include "http/json.h"
#include "ipc/settings.h"

static const char *text_of(const json_t *o, const char *name)
{
	const char *z = json_string_value(json_object_get(o, name));

	return z ? z : "";
}

/* Seconds since 1970, maybe with a fraction. */
static bool time_of(const json_t *o, const char *name, double *ret)
{
	const json_t *v = json_object_get(o, name);

	if (!json_is_number(v))
		return false;
	*ret = json_number_value(v);
	return true;
}

static int check_times(const json_t *claims, double now, double skew, struct err *e)
{
	double exp, iat, nbf = 0;

	if (!time_of(claims, "exp", &exp) || !time_of(claims, "iat", &iat) ||
	    (json_object_get(claims, "nbf") && !time_of(claims, "nbf", &nbf)))
		return err_set(e, EINVAL, "the token does not say when it is valid");
	if (!(exp > now - skew))
		return err_set(e, EINVAL, "the token has expired %.0f s ago (are the clocks right?)", now - exp);
	if (!(iat <= now + skew) || !(nbf <= now + skew))
		return err_set(e, EINVAL, "the token is not valid yet (are the clocks right?)");
	return 0;
}

/* For this client, and if for others too, then made for this one. */
static int check_audience(const json_t *claims, const char *client, struct err *e)
{
	const json_t *aud = json_object_get(claims, "aud"), *azp = json_object_get(claims, "azp"), *one;
	bool found = json_is_string(aud) && strcmp(json_string_value(aud), client) == 0;
	size_t i;

	json_array_foreach(aud, i, one)
	    found = found || (json_is_string(one) && strcmp(json_string_value(one), client) == 0);
	if (!found)
		return err_set(e, EINVAL, "the token is for another client");
	if (azp ? strcmp(text_of(claims, "azp"), client) != 0 : json_array_size(aud) > 1)
		return err_set(e, EINVAL, "the token was made for another client");
	return 0;
}

int claims_check(const json_t *claims, const struct oidc_options *o, const char *nonce, uint64_t now_s, struct err *e)
{
	const char *subject = text_of(claims, "sub");

	if (strcmp(text_of(claims, "iss"), o->oidc_issuer) != 0)
		return err_set(e, EINVAL, "the token is of another provider");
	if (check_audience(claims, o->oidc_client_id, e) < 0 ||
	    check_times(claims, (double)now_s, (double)o->oidc_clock_skew_s, e) < 0)
		return -e->no;
	if (!*nonce || strcmp(text_of(claims, "nonce"), nonce) != 0)
		return err_set(e, EINVAL, "the token is of another log-in (nonce)");
	if (!*subject || strlen(subject) >= OI_SUBJECT_SIZE)
		return err_set(e, EINVAL, "the token names no user (sub)");
	return 0;
}

/* "groups", or "realm_access.roles" for a member of an object. */
static const json_t *find(const json_t *claims, const char *path)
{
	const json_t *v = json_object_get(claims, path);
	struct str rest = str_of(path);

	for (const json_t *at = claims; !v && at && rest.p;) {
		struct str name = str_cut(&rest, '.');

		at = json_object_getn(at, name.p, name.n);
		if (!rest.p)
			v = at;
	}
	return v;
}

static bool is_email(const struct oidc_options *o)
{
	return strcmp(o->oidc_user_claim, "email") == 0;
}

bool claims_lack(const json_t *claims, const struct oidc_options *o)
{
	return !find(claims, o->oidc_user_claim) || !find(claims, o->oidc_groups_claim) ||
	    (is_email(o) && !json_object_get(claims, "email_verified"));
}

int claims_add(json_t *claims, const json_t *more, struct err *e)
{
	if (strcmp(text_of(claims, "sub"), text_of(more, "sub")) != 0)
		return err_set(e, EINVAL, "the provider told about another user than the one of the token");
	const json_t *email = json_object_get(claims, "email");
	autojson json_t *rest = json_copy((json_t *)more);

	/* What a document says of an address is said of its own. */
	if (!email)
		(void)json_object_del(claims, "email_verified");
	else if (!json_equal(email, json_object_get(more, "email")))
		(void)json_object_del(rest, "email_verified");
	return json_object_update_missing(claims, rest) < 0 ? err_set(e, ENOMEM, "out of memory") : 0;
}

static bool is_in(const json_t *groups, struct str name)
{
	const json_t *one;
	size_t i;

	json_array_foreach(groups, i, one)
	{
		if (json_is_string(one) &&
		    str_eq((struct str) { json_string_value(one), json_string_length(one) }, name))
			return true;
	}
	return json_is_string(groups) && str_is(name, json_string_value(groups));
}

/* Some providers send it as text. */
static bool is_verified(const json_t *claims)
{
	const json_t *v = json_object_get(claims, "email_verified");

	return json_is_true(v) || (json_is_string(v) && strcmp(json_string_value(v), "true") == 0);
}

static int name_of(const json_t *claims, const struct oidc_options *o, char ret[OI_USER_SIZE], struct err *e)
{
	const char *user = json_string_value(find(claims, o->oidc_user_claim));

	if (!user || !*user)
		return err_set(e, EINVAL, "the provider does not tell the user's '%s' (oidc_user_claim, oidc_scopes)",
		    o->oidc_user_claim);
	if (!str_copy(ret, OI_USER_SIZE, str_of(user)))
		return err_set(e, EINVAL, "the user's '%s' is too long", o->oidc_user_claim);
	for (const char *z = user; *z; z++) {
		if ((unsigned char)*z < ' ' || *z == 0x7f)
			return err_set(e, EINVAL, "the user's '%s' has control characters", o->oidc_user_claim);
	}
	if (is_email(o) && !o->oidc_unverified_email && !is_verified(claims))
		return err_set(e, EPERM, "the provider has not verified the email address of this user");
	return 0;
}

int claims_user(const json_t *claims, const struct oidc_options *o, struct oi_done *ret, struct err *e)
{
	const json_t *groups = find(claims, o->oidc_groups_claim);
	struct str list = str_of(o->oidc_roles), bad;
	struct oidc_rule rule;

	(void)str_copy(ret->subject, sizeof ret->subject, str_of(text_of(claims, "sub")));
	if (name_of(claims, o, ret->user, e) < 0)
		return -e->no;
	while (oidc_rule_next(&list, &rule, &bad) == 1) {
		if ((rule.kind == OIDC_GROUP && !is_in(groups, rule.who)) ||
		    (rule.kind == OIDC_USER && !str_is(rule.who, ret->user)))
			continue;
		ret->role = rule.role;
		(void)str_copy(ret->team, sizeof ret->team, rule.team);
		return 0;
	}
	return err_set(e, EPERM, "this user has no role here: no rule of oidc_roles fits");
}
