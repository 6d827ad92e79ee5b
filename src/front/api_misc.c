/* SPDX-License-Identifier: Apache-2.0 */
/* front/api_misc: health, templates, teams. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/fd.h"
#include "front/api.h"
#include "front/front.h"
#include "front/keyring.h"
#include "front/reply.h"
#include "front/request.h"
#include "http/server.h"
#include "http/url.h"

#define MIB (1024 * 1024)

void api_health(struct req *r)
{
	reply_empty(r, 204);
}

json_t *time_json(uint64_t wall_ms)
{
	char text[CLOCK_RFC3339_SIZE];

	clock_rfc3339(wall_ms, text);
	return json_string(text);
}

json_t *time_or_null(uint64_t wall_ms)
{
	return wall_ms ? time_json(wall_ms) : json_null();
}

static json_t *template_json(const struct front *f, const struct template *tp)
{
	const struct msg_limits *lim = &f->defaults;

	return json_pack("{s:s,s:s,s:I,s:I,s:I,s:b,s:[s],s:[s],s:o,s:o,s:n,s:n,s:i,s:i,s:s,s:s}", "templateID", tp->id, "buildID", tp->key,
			 "cpuCount", (json_int_t)((lim->cpu_permille + 999) / 1000), "memoryMB", (json_int_t)(lim->mem_bytes / MIB),
			 "diskSizeMB", (json_int_t)(lim->disk_bytes / MIB), "public", 1, "aliases", tp->name, "names", tp->name,
			 "createdAt", time_json(tp->built_ms), "updatedAt", time_json(tp->built_ms), "createdBy", "lastSpawnedAt",
			 "spawnCount", 0, "buildCount", 1, "envdVersion", ENVD_VERSION, "buildStatus", "ready");
}

void api_templates(struct req *r)
{
	autofree char *team = NULL;

	if (query_get(r->http->query, "teamID", &team) == 0 && strcmp(team, r->caller.team) != 0) {
		reply_error(r, 400, "query parameter 'teamID' is not the team of the API key");
		return;
	}

	json_t *list = json_array();

	for (size_t i = 0; i < r->front->templates.n; i++)
		(void)json_array_append_new(list, template_json(r->front, &r->front->templates.v[i]));
	reply_json(r, 200, list, NULL);
}

void api_template_alias(struct req *r)
{
	const struct template *tp;
	struct err e;

	if (templates_find(&r->front->templates, str_of(r->param), &tp, &e) < 0)
		reply_err(r, &e);
	else
		reply_json(r, 200, json_pack("{s:s,s:b}", "templateID", tp->id, "public", 1), NULL);
}

void api_teams(struct req *r)
{
	const struct team *t = keyring_team(r->front->keyring, str_of(r->caller.team));
	struct str key = http_header_get(&r->http->headers, "x-api-key");

	if (!key.n) {			/* "Bearer KEY" */
		key = http_header_get(&r->http->headers, "authorization");
		(void)str_cut(&key, ' ');
	}
	/* The key is not kept anywhere in the clear: the caller gets back the one that he showed. */
	reply_json(r, 200, json_pack("[{s:s,s:s,s:s%,s:b}]", "teamID", t->id, "name", t->name, "apiKey", key.p ? key.p : "", key.n,
				     "isDefault", 1), NULL);
}

void api_access_tokens(struct req *r)
{
	reply_error(r, 410, "there are no access tokens here: use an API key");
}
