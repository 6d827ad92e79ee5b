/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: lines are the Host, the two routing headers, the method and the target of a request. Whatever they are,
 * a port of a sandbox is a port and an id, a route of the API is the first whose segments are those of the path, and
 * without the token nobody comes past the check of envd. */
#include <string.h>

#include "front/api/routes.h"
#include "front/proxy/envd_check.h"
#include "front/proxy/route.h"
#include "fuzz.h"

#define TOKEN "0123456789abcdef"

static bool is_in(struct str part, struct str whole)
{
	return part.n <= whole.n && part.p >= whole.p && part.p + part.n <= whole.p + whole.n;
}

static void route(struct str host, struct str id, struct str port)
{
	static const char *const domains[] = { "", "sbx.example.org", "sbx.example.org:8443" };

	for (size_t i = 0; i < 3; i++) {
		struct proxy_target t = { 0 };
		enum proxy_route r = proxy_route(host, id, port, domains[i], &t);

		if (r == ROUTE_PORT) {
			MUST(t.port > 0);
			MUST(sandbox_id_valid(t.id));
			MUST(is_in(t.id, host) || is_in(t.id, id));
		} else if (r == ROUTE_BAD) {
			MUST(t.why && *t.why);
		}
		(void)host_is_local(host, domains[i]);
	}
}

static void check(struct str method, struct str target)
{
	struct str query = target, path = str_cut(&query, '?');
	const char *message = NULL;
	autosigned struct signed_file s = { 0 };

	if (!query.p)
		query = (struct str) { path.p + path.n, 0 };
	(void)envd_path_is_internal(path);
	/* a sandbox without a token */
	MUST(envd_check(method, path, query, STR_NULL, "", 1000, &message) == 0);
	if (envd_check(method, path, query, STR_NULL, TOKEN, 1000, &message) < 0)
		MUST(message && *message);
	else
		MUST(str_is(path, "/health")); /* nobody guesses a signature */
	if (signed_file_parse(method, path, query, &s)) {
		MUST(s.signature && s.op);
		MUST(!signed_file_by(&s, TOKEN));
	}
}

/* Segment by segment, and so in another way than http/route. */
static bool fits(const char *pattern, struct str path, struct str params[HTTP_ROUTE_PARAMS])
{
	struct str want = str_of(pattern);
	size_t n = 0;

	for (size_t i = 0; i < HTTP_ROUTE_PARAMS; i++)
		params[i] = STR_NULL;
	while (want.p && path.p) {
		struct str w = str_cut(&want, '/'), p = str_cut(&path, '/');

		if (str_is(w, "{*}"))
			return p.n > 0;
		if (str_starts(w, "{") ? p.n == 0 : !str_eq(w, p))
			return false;
		if (str_starts(w, "{")) {
			MUST(n < HTTP_ROUTE_PARAMS);
			params[n++] = p;
		}
	}
	return !want.p && !path.p;
}

static void api(struct str method, struct str path)
{
	struct str got[HTTP_ROUTE_PARAMS], want[HTTP_ROUTE_PARAMS];
	autobuf struct buf allow = BUF_INIT(256);
	const struct route *r = route_find(method, path, got, &allow), *first = NULL;
	bool others = false;

	for (size_t i = 0; !first && route_at(i); i++) {
		bool fit = fits(route_at(i)->on.pattern, path, want);

		if (fit && str_is(http_route_method(method), route_at(i)->on.method))
			first = route_at(i);
		else
			others |= fit;
	}
	MUST(r == first && others == (allow.n > 0));
	for (size_t i = 0; r && i < HTTP_ROUTE_PARAMS; i++)
		MUST(got[i].p == want[i].p && got[i].n == want[i].n);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str rest = { (const char *)data, size };
	struct str host = str_cut(&rest, '\n'), id = str_cut(&rest, '\n'), port = str_cut(&rest, '\n'),
		   method = str_cut(&rest, '\n');

	route(host, id, port);
	if (method.p && rest.p) {
		struct str path = rest;

		check(method, rest);
		api(method, str_cut(&path, '?'));
	}
	return 0;
}
