/* SPDX-License-Identifier: Apache-2.0 */
/* front/proxy/route: Host labels and routing headers.
 *
 * One port serves everything. If the host cannot name a sandbox (localhost, an address, "sandbox.…"), the headers
 * decide. Any other host is parsed first: "{port}-{id}[-{anything}].{domain}". The headers still decide if the
 * host is clearly something else, such as "my-server.lan". */
#include "front/proxy/route.h"

#include <arpa/inet.h>
#include <string.h>

bool sandbox_id_valid(struct str id)
{
	for (size_t i = 0; i < id.n; i++) {
		if (!((id.p[i] >= 'a' && id.p[i] <= 'z') || (id.p[i] >= '0' && id.p[i] <= '9')))
			return false;
	}
	return id.n > 0;
}

static bool port_parse(struct str s, uint16_t *ret)
{
	uint64_t v;

	if (str_to_u64(s, 65535, &v) < 0 || v == 0)
		return false;
	*ret = (uint16_t)v;
	return true;
}

static struct str without_port(struct str host)
{
	if (host.n > 0 && host.p[0] == '[') {
		const char *end = memchr(host.p, ']', host.n);

		return (struct str) { host.p + 1, end ? (size_t)(end - host.p) - 1 : host.n - 1 };
	}
	return str_cut(&host, ':');
}

static bool is_address(struct str host)
{
	char z[64];
	unsigned char raw[16];

	return str_copy(z, sizeof z, host) && (inet_pton(AF_INET, z, raw) == 1 || inet_pton(AF_INET6, z, raw) == 1);
}

static bool starts_nocase(struct str s, struct str prefix)
{
	return s.n >= prefix.n && str_ieq((struct str) { s.p, prefix.n }, prefix);
}

static bool ends_nocase(struct str s, struct str suffix)
{
	return s.n >= suffix.n && str_ieq((struct str) { s.p + s.n - suffix.n, suffix.n }, suffix);
}

/* Whether every name below that domain is a sandbox. */
static bool is_below(struct str host, struct str domain)
{
	return domain.n > 0 && host.n > domain.n + 1 && ends_nocase(host, domain) &&
	    host.p[host.n - domain.n - 1] == '.';
}

static bool all_digits(struct str s)
{
	for (size_t i = 0; i < s.n; i++) {
		if (s.p[i] < '0' || s.p[i] > '9')
			return false;
	}
	return s.n > 0;
}

static enum proxy_route bad(struct proxy_target *ret, const char *why)
{
	ret->why = why;
	return ROUTE_BAD;
}

static enum proxy_route by_headers(struct str id, struct str port, struct proxy_target *ret)
{
	struct str rest = id;

	ret->by_headers = true;
	if (!id.p || !port.p)
		return bad(ret, "missing header");
	if (!port_parse(port, &ret->port))
		return bad(ret, "Invalid sandbox port");
	ret->id = str_cut(&rest, '-');
	return sandbox_id_valid(ret->id) ? ROUTE_PORT : bad(ret, "Invalid sandbox ID");
}

static enum proxy_route by_label(struct str label, struct proxy_target *ret)
{
	struct str port = str_cut(&label, '-');

	if (!port_parse(port, &ret->port))
		return bad(ret, "Invalid sandbox port");
	ret->id = str_cut(&label, '-');
	return sandbox_id_valid(ret->id) ? ROUTE_PORT : bad(ret, "Invalid sandbox ID");
}

bool host_is_local(struct str host, const char *domain)
{
	struct str name = without_port(host), own = without_port(str_of(domain));

	return is_address(name) || str_ieq(name, STR_LIT("localhost")) || is_below(name, STR_LIT("localhost")) ||
	    (own.n > 0 && (str_ieq(name, own) || is_below(name, own)));
}

struct str host_domain(struct str host)
{
	static const char name_chars[] = "abcdefghijklmnopqrstuvwxyz0123456789.-";

	if (!str_starts(host, "api."))
		return STR_NULL;
	str_skip(&host, strlen("api."));
	struct str port = host, name = str_cut(&port, ':');
	bool ok = name.n > 0 && name.p[0] != '.' && name.p[0] != '-' && (!port.p || all_digits(port));

	for (size_t i = 0; ok && i < name.n; i++)
		ok = memchr(name_chars, name.p[i], sizeof name_chars - 1);
	return ok ? host : STR_NULL;
}

enum proxy_route proxy_route(struct str host, struct str hdr_id, struct str hdr_port, const char *domain,
    struct proxy_target *ret)
{
	struct str name = without_port(host);
	bool has_headers = hdr_id.p || hdr_port.p;
	struct str rest = name;
	struct str label = str_cut(&rest, '.');

	*ret = (struct proxy_target) { 0 };
	if (is_address(name) || str_ieq(name, STR_LIT("localhost")) || starts_nocase(name, STR_LIT("sandbox.")))
		return has_headers ? by_headers(hdr_id, hdr_port, ret) : ROUTE_API;
	if (rest.p && memchr(label.p, '-', label.n)) {
		struct str before = label;
		bool ours = is_below(name, without_port(str_of(domain))) || is_below(name, STR_LIT("localhost"));

		if (ours || all_digits(str_cut(&before, '-')))
			return by_label(label, ret);
	}
	return has_headers ? by_headers(hdr_id, hdr_port, ret) : ROUTE_API;
}
