/* SPDX-License-Identifier: Apache-2.0 */
/* http/route: compares pattern and path in one pass. */
#include "http/route.h"

static size_t segment_length(struct str s)
{
	const char *slash = s.n > 0 ? memchr(s.p, '/', s.n) : NULL;

	return slash ? (size_t)(slash - s.p) : s.n;
}

static bool path_matches(const char *pattern, struct str path, struct str ret_params[HTTP_ROUTE_PARAMS])
{
	size_t n_params = 0;

	while (*pattern) {
		if (*pattern != '{') {
			if (path.n == 0 || *path.p != *pattern)
				return false;
			str_skip(&path, 1);
			pattern++;
			continue;
		}
		size_t n = segment_length(path);

		if (n == 0)
			return false;
		if (pattern[1] == '*')
			return true;
		if (n_params == HTTP_ROUTE_PARAMS)
			return false;
		ret_params[n_params++] = (struct str) { path.p, n };
		str_skip(&path, n);
		pattern = strchr(pattern, '}') + 1;
	}
	return path.n == 0;
}

ptrdiff_t http_route_find(struct http_routes table, struct str method, struct str path,
    struct str ret_params[HTTP_ROUTE_PARAMS], struct buf *allow)
{
	const char *at = (const char *)table.first;

	for (size_t i = 0; i < table.n; i++, at += table.stride) {
		const struct http_route *r = (const struct http_route *)(const void *)at;
		struct str params[HTTP_ROUTE_PARAMS] = { STR_NULL, STR_NULL };

		if (!path_matches(r->pattern, path, params))
			continue;
		if (str_is(method, r->method)) {
			memcpy(ret_params, params, sizeof params);
			return (ptrdiff_t)i;
		}
		buf_fmt(allow, "%s%s", allow->n ? ", " : "", r->method);
	}
	return -1;
}

struct str http_route_method(struct str method)
{
	return str_is(method, "HEAD") ? STR_LIT("GET") : method;
}
