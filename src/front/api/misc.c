/* SPDX-License-Identifier: Apache-2.0 */
/* front/api/misc: health, templates, teams. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/fd.h"
#include "front/account/accounts.h"
#include "front/account/keyring.h"
#include "front/api/api.h"
#include "front/api/handlers.h"
#include "front/api/reply.h"
#include "front/api/request.h"
#include "front/link/links.h"
#include "front/link/warden_link.h"
#include "http/server.h"
#include "http/url.h"

void api_health(struct req *r)
{
	if (warden_silent(r->api->link->warden))
		reply_away(r);
	else
		reply_empty(r, 204);
}

void api_teams(struct req *r)
{
	const struct team *t = keyring_team(r->api->account->keyring, str_of(r->caller.team));
	struct str key = http_header_get(&r->http->headers, "x-api-key");

	if (!key.n) { /* "Bearer KEY" */
		key = http_header_get(&r->http->headers, "authorization");
		(void)str_cut(&key, ' ');
	}
	/* The key is stored only as a hash, so the caller gets the one that it sent. */
	reply_json(r, 200,
	    json_pack("[{s:s,s:s,s:s%,s:b}]", "teamID", t->id, "name", t->name, "apiKey", key.p ? key.p : "", key.n,
		"isDefault", 1),
	    NULL);
}

void api_access_tokens(struct req *r)
{
	reply_error(r, 410, "there are no access tokens here: use an API key");
}
