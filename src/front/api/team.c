/* SPDX-License-Identifier: Apache-2.0 */
/* front/api/team: reads the keyring and the table of sandboxes. */
#include "front/api/team.h"

#include <string.h>

#include "front/account/accounts.h"
#include "front/account/keyring.h"
#include "front/account/quota.h"
#include "front/api/api.h"
#include "front/api/reply.h"
#include "front/api/req.h"
#include "front/link/links.h"
#include "front/sandbox/sandbox.h"
#include "front/sandbox/sandboxes.h"
#include "front/sandbox/table.h"
#include "http/json.h"

struct team *req_team(struct req *r)
{
	struct team *t = keyring_team(r->api->account->keyring, str_of(r->param));

	if (!t)
		reply_error(r, 404, "team '%.64s' not found", r->param);
	return t;
}

bool req_has_quota(struct req *r)
{
	struct keyring *kr = r->api->account->keyring;
	const struct key *k = keyring_key(kr, keyring_team(kr, str_of(r->caller.team)), str_of(r->caller.key));

	return !r->caller.admin && k && !quota_is_none(&k->quota);
}

int read_quota(const struct api *a, const json_t *body, bool of_key, struct quota *q, struct err *e)
{
	json_t *o = NULL;

	if (json_get_obj(body, "quota", &o, e) < 0)
		return -e->no;
	if (!o && json_object_get(body, "quota"))
		*q = (struct quota) { 0 };
	return o ? quota_read(o, of_key, &a->account->maxima, q, e) : 0;
}

size_t team_sandboxes(const struct api *a, const char *team)
{
	size_t n = 0;

	for (const struct sandbox *sb = sandbox_table_next(a->sandbox->table, NULL); sb;
	    sb = sandbox_table_next(a->sandbox->table, sb))
		n += strcmp(sb->team, team) == 0;
	return n;
}

/* Without Retry-After, because waiting does not help. */
int api_check_room(const struct api *a, const char *team, struct err *e)
{
	const struct team *t = keyring_team(a->account->keyring, str_of(team));
	uint64_t max = t->max_sandboxes == LIMIT_DEFAULT ? a->link->opt.team_max_sandboxes : (uint64_t)t->max_sandboxes;
	bool limited = t->max_sandboxes != LIMIT_DEFAULT || max > 0;

	if (limited && team_sandboxes(a, team) >= max)
		return err_set(e, EDQUOT, "the team's maximum of %llu sandboxes is reached", (unsigned long long)max);
	if (sandbox_table_count(a->sandbox->table) >= a->sandbox->max_sandboxes)
		return err_set(e, EDQUOT, "the server's maximum of %u sandboxes is reached", a->sandbox->max_sandboxes);
	return 0;
}
