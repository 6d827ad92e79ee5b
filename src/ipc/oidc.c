/* SPDX-License-Identifier: Apache-2.0 */
/* ipc/oidc: checks. */
#include "ipc/oidc.h"

#include <errno.h>
#include <string.h>

#include "base/fd.h"
#include "ipc/check.h"
#include "ipc/webhooks.h"

/* NUL-terminated, zero padded, without control characters. */
static bool is_plain(const char *z, size_t size)
{
	if (!check_text(z, size))
		return false;
	for (; *z; z++) {
		if ((unsigned char)*z < ' ' || *z == 0x7f)
			return false;
	}
	return true;
}

#define PLAIN(m, field) is_plain((m).field, sizeof(m).field)

int oi_ask_check(const void *p, size_t n, struct oi_ask *ret)
{
	struct oi_ask m;

	if (n != sizeof m)
		return -EBADMSG;
	memcpy(&m, p, sizeof m);
	if (m.head.version != OI_VERSION ||
	    (m.head.type != OI_BEGIN && m.head.type != OI_FINISH && m.head.type != OI_END) || !PLAIN(m, state) ||
	    !PLAIN(m, nonce) || !PLAIN(m, verifier) || !PLAIN(m, back) || !PLAIN(m, code) || !PLAIN(m, issuer))
		return -EBADMSG;
	*ret = m;
	return 0;
}

int oi_done_check(const void *p, size_t n, struct oi_done *ret)
{
	struct oi_done m;

	if (n != sizeof m)
		return -EBADMSG;
	memcpy(&m, p, sizeof m);
	if (m.head.version != OI_VERSION || m.head.type != OI_DONE || m.outcome >= OI_OUTCOMES || m.role >= OI_ROLES ||
	    !PLAIN(m, url) || !PLAIN(m, user) || !PLAIN(m, subject) || !PLAIN(m, team) || !PLAIN(m, text))
		return -EBADMSG;
	*ret = m;
	return 0;
}

/* --- rules --- */

static int role_of(struct str name, enum oi_role *ret)
{
	static const char *const names[OI_ROLES] = { "viewer", "member", "admin" };

	for (unsigned i = 0; i < OI_ROLES; i++) {
		if (str_is(name, names[i])) {
			*ret = (enum oi_role)i;
			return 0;
		}
	}
	return -EINVAL;
}

static int who_of(struct str text, struct oidc_rule *ret)
{
	ret->kind = OIDC_ALL;
	if (str_is(text, "*"))
		return 0;
	if (str_starts(text, "group:"))
		ret->kind = OIDC_GROUP;
	else if (str_starts(text, "user:"))
		ret->kind = OIDC_USER;
	else
		return -EINVAL;
	str_skip(&text, strlen(ret->kind == OIDC_GROUP ? "group:" : "user:"));
	ret->who = str_trim(text);
	return ret->who.n > 0 ? 0 : -EINVAL;
}

int oidc_rule_next(struct str *list, struct oidc_rule *ret, struct str *ret_bad)
{
	struct str rule = STR_NULL;

	while (list->p && rule.n == 0)
		rule = str_trim(str_cut(list, ','));
	if (rule.n == 0)
		return 0;
	*ret_bad = rule;
	*ret = (struct oidc_rule) { 0 };
	/* the last one: names of groups may have some */
	const char *equals = memrchr(rule.p, '=', rule.n);

	if (!equals)
		return -EINVAL;
	struct str who = { rule.p, (size_t)(equals - rule.p) }, team = { equals + 1, rule.n - who.n - 1 };
	struct str role = str_trim(str_cut(&team, '@'));

	ret->team = team.p ? str_trim(team) : STR_NULL;
	if (who_of(str_trim(who), ret) < 0 || role_of(role, &ret->role) < 0 || (team.p && ret->team.n == 0) ||
	    ret->team.n >= OI_TEAM_SIZE)
		return -EINVAL;
	return 1;
}

bool oidc_url_is_local(struct str url)
{
	struct webhook_url u;
	struct err e;

	return webhook_url_parse(url, &u, &e) == 0 &&
	    (strcmp(u.host, "localhost") == 0 || strcmp(u.host, "127.0.0.1") == 0 || strcmp(u.host, "::1") == 0);
}

int oidc_settings_check(const char *issuer, const char *client, const char *roles, struct err *e)
{
	struct str list = str_of(roles), bad;
	struct oidc_rule rule;
	struct webhook_url u;
	int r, n = 0;

	if (webhook_url_parse(str_of(issuer), &u, e) < 0)
		return err_wrap(e, "oidc_issuer = '%s'", issuer);
	if (strchr(issuer, '?'))
		return err_set(e, EINVAL, "oidc_issuer = '%s': want no query", issuer);
	if (!u.tls && !oidc_url_is_local(str_of(issuer)))
		return err_set(e, EINVAL, "oidc_issuer = '%s': want https:// (http:// for a loopback address only)",
		    issuer);
	if (!*client)
		return err_set(e, EINVAL, "oidc_issuer is given, but no oidc_client_id");
	while ((r = oidc_rule_next(&list, &rule, &bad)) == 1)
		n++;
	if (r < 0)
		return err_set(e, EINVAL,
		    "oidc_roles: '%.*s': want group:NAME=ROLE, user:NAME=ROLE or *=ROLE, with viewer, member or admin, "
		    "and perhaps @TEAM",
		    STR_ARG(bad));
	if (n == 0)
		return err_set(e, EINVAL, "oidc_issuer is given, but no oidc_roles: nobody could log in");
	return 0;
}
