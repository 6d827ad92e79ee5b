/* SPDX-License-Identifier: Apache-2.0 */
/* front/routes: which method and path is which handler. */
#include "front/routes.h"

#include "base/fd.h"
#include "front/api.h"

#define SMALL (64 * 1024)
#define CREATE_MAX (1024 * 1024)

static const struct route routes[] = {
	{ "GET", "/health", true, 0, api_health },
	{ "GET", "/sandboxes", false, 0, api_list_v1 },
	{ "POST", "/sandboxes", false, CREATE_MAX, api_create_v1 },
	{ "GET", "/v2/sandboxes", false, 0, api_list_v2 },
	{ "POST", "/v2/sandboxes", false, CREATE_MAX, api_create_v2 },
	{ "GET", "/sandboxes/{}", false, 0, api_info },
	{ "DELETE", "/sandboxes/{}", false, SMALL, api_kill },
	{ "POST", "/sandboxes/{}/timeout", false, SMALL, api_timeout },
	{ "POST", "/sandboxes/{}/refreshes", false, SMALL, api_refresh },
	{ "POST", "/sandboxes/{}/connect", false, SMALL, api_connect_v1 },
	{ "POST", "/v2/sandboxes/{}/connect", false, SMALL, api_connect_v2 },
	{ "POST", "/sandboxes/{}/pause", false, SMALL, api_pause },
	{ "POST", "/sandboxes/{}/resume", false, SMALL, api_resume },
	{ "GET", "/sandboxes/{}/metrics", false, 0, api_metrics },
	{ "GET", "/templates", false, 0, api_templates },
	{ "GET", "/templates/aliases/{}", false, 0, api_template_alias },
	{ "GET", "/teams", false, 0, api_teams },
};

static bool path_matches(const char *pattern, struct str path, struct str *ret_param)
{
	struct str want = str_of(pattern);

	while (want.p && path.p) {
		struct str w = str_cut(&want, '/'), p = str_cut(&path, '/');

		if (str_is(w, "{}")) {
			if (p.n == 0)
				return false;
			*ret_param = p;
		} else if (!str_eq(w, p)) {
			return false;
		}
	}
	return !want.p && !path.p;
}

const struct route *route_find(struct str method, struct str path, struct str *ret_param, struct buf *ret_allow)
{
	struct str get = STR_LIT("GET");

	if (str_is(method, "HEAD"))
		method = get;
	for (size_t i = 0; i < ARRAY_LEN(routes); i++) {
		struct str param = STR_NULL;

		if (!path_matches(routes[i].pattern, path, &param))
			continue;
		if (str_is(method, routes[i].method)) {
			*ret_param = param;
			return &routes[i];
		}
		buf_fmt(ret_allow, "%s%s", ret_allow->n ? ", " : "", routes[i].method);
	}
	return NULL;
}
