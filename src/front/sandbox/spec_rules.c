/* SPDX-License-Identifier: Apache-2.0 */
/* front/sandbox/spec_rules: the size limits are those of E2B. */
#include "front/sandbox/spec_rules.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/inet.h"
#include "front/account/secrets.h"
#include "http/pem.h"
#include "ipc/policy.h"
#include "ipc/rules.h"

#define VALUE_MAX 2048 /* as given; expanded secrets may make it longer */
#define CREDENTIAL_MAX 255

/* "Example.com." -> "example.com"; a name, or *.name. */
static int clean_domain(const char *text, char ret[POLICY_NAME_SIZE])
{
	struct str s = str_of(text);

	if (s.n > 1 && s.p[s.n - 1] == '.')
		s.n--;
	if (!str_copy(ret, POLICY_NAME_SIZE, s))
		return -EINVAL;
	for (char *c = ret; *c; c++)
		*c = *c >= 'A' && *c <= 'Z' ? (char)(*c - 'A' + 'a') : *c;
	return policy_name_ok(str_of(ret)) && strcmp(ret, "*") != 0 ? 0 : -EINVAL;
}

/* Checks the headers of one rule; *ret is NULL if there are none. */
static int headers_of(const json_t *list, const char *domain, json_t **ret, struct err *e)
{
	json_t *rule = json_array_get(list, 0), *transform = json_object_get(rule, "transform"),
	       *headers = json_object_get(transform, "headers");

	*ret = NULL;
	if (!json_is_array(list) || json_array_size(list) > 1)
		return err_set(e, EINVAL, "field 'network.rules.%s' must be an array of at most one rule", domain);
	if (rule && !json_is_object(rule))
		return err_set(e, EINVAL, "field 'network.rules.%s[0]' must be an object", domain);
	if (transform && !json_is_null(transform) && !json_is_object(transform))
		return err_set(e, EINVAL, "field 'network.rules.%s[0].transform' must be an object", domain);
	if (headers && !json_is_null(headers) && !json_is_object(headers))
		return err_set(e, EINVAL, "field 'network.rules.%s[0].transform.headers' must be an object", domain);
	*ret = json_is_object(headers) && json_object_size(headers) > 0 ? headers : NULL;
	return 0;
}

static int check_header(const char *domain, const char *name, const json_t *value, struct err *e)
{
	autobuf struct buf none = BUF_INIT(VALUE_MAX + 1);
	struct str text = { json_string_value(value), json_string_length(value) };
	struct err own = ERR_INIT;
	bool secret;

	if (!rules_field_name_ok(str_of(name)))
		return err_set(e, EINVAL, "field 'network.rules.%s': '%.60s' is not a header that can be set", domain,
		    name);
	if (!text.p || text.n > VALUE_MAX || !rules_field_value_ok(text))
		return err_set(e, EINVAL,
		    "field 'network.rules.%s': the value of '%.60s' must be a text of at most %d bytes without control "
		    "characters",
		    domain, name, VALUE_MAX);
	if (secrets_fill(NULL, "", text, &none, &secret, &own) < 0)
		return err_set(e, EINVAL, "field 'network.rules.%s': the value of '%.60s' %s", domain, name, own.text);
	return 0;
}

static int check_headers(const char *domain, json_t *headers, struct err *e)
{
	const char *name, *other;
	json_t *value, *ignored;

	if (json_object_size(headers) > RULES_FIELDS_MAX)
		return err_set(e, EINVAL, "field 'network.rules.%s' must have at most %d headers", domain,
		    RULES_FIELDS_MAX);
	json_object_foreach(headers, name, value)
	{
		if (check_header(domain, name, value, e) < 0)
			return -e->no;
		json_object_foreach(headers, other, ignored)
		{
			if (other != name && strcasecmp(other, name) == 0 && strcmp(other, name) != 0)
				return err_set(e, EINVAL, "field 'network.rules.%s' sets '%.60s' twice", domain, name);
		}
	}
	return 0;
}

/* Compares literally, without wildcards. */
static bool has_rule(const struct policy *p, const char *domain)
{
	for (uint32_t i = 0; i < p->n_names; i++) {
		if (p->names[i].kind == POLICY_REWRITE && strcmp(p->names[i].text, domain) == 0)
			return true;
	}
	return false;
}

static int check_rules(const json_t *network, struct policy *p, struct err *e)
{
	static const uint16_t ports[] = { 80, 443 };
	json_t *rules = json_object_get(network, "rules"), *list, *headers;
	const char *key;
	char domain[POLICY_NAME_SIZE];

	if (!rules || json_is_null(rules))
		return 0;
	if (!json_is_object(rules))
		return err_set(e, EINVAL, "field 'network.rules' must be an object");
	if (json_object_size(rules) > RULES_DOMAINS_MAX)
		return err_set(e, EINVAL, "field 'network.rules' must have at most %d domains", RULES_DOMAINS_MAX);
	json_object_foreach(rules, key, list)
	{
		if (clean_domain(key, domain) < 0)
			return err_set(e, EINVAL, "field 'network.rules': '%.80s' is not a domain name", key);
		if (headers_of(list, domain, &headers, e) < 0 || (headers && check_headers(domain, headers, e) < 0))
			return -e->no;
		if (has_rule(p, domain))
			return err_set(e, EINVAL, "field 'network.rules' has '%s' twice", domain);
		for (size_t i = 0; headers && i < ARRAY_LEN(ports); i++) {
			if (policy_add_name(p, POLICY_REWRITE, str_of(domain), ports[i], ports[i]) < 0)
				return err_set(e, EINVAL, "field 'network' has too many entries");
		}
	}
	return 0;
}

/* --- the proxy ----------------------------------------------------------------------------------------------- */

static int read_address(const char *text, struct rules_socks *ret)
{
	struct str port = str_of(text);
	struct str host = str_cut(&port, ':');
	struct inet_range ip;
	uint64_t n;

	host = str_trim(host);
	if (!port.p || str_to_u64(str_trim(port), 65535, &n) < 0 || n == 0)
		return -EINVAL;
	ret->port = (uint16_t)n;
	if (inet_parse(host, &ip) == 0)
		return ip.len == 32 && !memchr(host.p, '/', host.n) && !inet_never_open(ip) &&
			str_copy(ret->host, sizeof ret->host, host)
		    ? 0
		    : -EINVAL;
	autofree char *z = str_dup(host);

	return z ? clean_domain(z, ret->host) : -ENOMEM;
}

static int read_credential(const json_t *proxy, const char *field, char ret[CREDENTIAL_MAX + 1], struct err *e)
{
	const json_t *v = json_object_get(proxy, field);

	if (!v || json_is_null(v))
		return 0;
	struct str text = { json_string_value(v), json_string_length(v) };

	if (!text.p || !str_copy(ret, CREDENTIAL_MAX + 1, text) || strlen(ret) != text.n)
		return err_set(e, EINVAL, "field 'network.egressProxy.%s' must be a text of at most %d bytes", field,
		    CREDENTIAL_MAX);
	return 0;
}

static int read_ca(const json_t *tls, struct rules_socks *ret, struct err *e)
{
	const json_t *v = json_object_get(tls, "caCert");
	struct str pem = { json_string_value(v), json_string_length(v) };

	if (!v || json_is_null(v))
		return 0;
	if (!pem.p || pem.n > RULES_CA_MAX || memchr(pem.p, 0, pem.n) || !pem_has_certificate(pem))
		return err_set(e, EINVAL,
		    "field 'network.egressProxy.tls.caCert' must be one or more certificates (PEM), %d bytes at most",
		    RULES_CA_MAX);
	ret->ca = str_dup(pem);
	return ret->ca ? 0 : err_set(e, ENOMEM, "out of memory");
}

static int read_server_name(const json_t *tls, struct rules_socks *ret, struct err *e)
{
	const json_t *v = json_object_get(tls, "serverName");
	const char *name = json_string_value(v);
	struct inet_range ip;

	if (!v || json_is_null(v))
		return 0;
	bool is_ip = name && inet_parse(str_of(name), &ip) == 0 && ip.len == 32 && !strchr(name, '/') &&
	    str_copy(ret->server_name, sizeof ret->server_name, str_of(name));

	if (!is_ip && (!name || clean_domain(name, ret->server_name) < 0 || ret->server_name[0] == '*'))
		return err_set(e, EINVAL,
		    "field 'network.egressProxy.tls.serverName' must be a host name or an IPv4 address");
	return 0;
}

static int read_tls(const json_t *proxy, struct rules_socks *ret, struct err *e)
{
	static const char field[] = "field 'network.egressProxy.tls";
	const json_t *tls = json_object_get(proxy, "tls"), *enabled = json_object_get(tls, "enabled");
	const char *key;
	json_t *v;

	if (!tls || json_is_null(tls))
		return 0;
	if (!json_is_object(tls))
		return err_set(e, EINVAL, "%s' must be an object", field);
	if (!json_is_boolean(enabled))
		return err_set(e, EINVAL, "%s.enabled' must be true or false", field);
	json_object_foreach((json_t *)tls, key, v)
	{
		bool known = strcmp(key, "serverName") == 0 || strcmp(key, "caCert") == 0;

		if (!known && strcmp(key, "enabled") != 0)
			return err_set(e, EINVAL, "%s' has an unknown field '%.60s'", field, key);
		if (known && json_is_false(enabled) && !json_is_null(v))
			return err_set(e, EINVAL, "%s.%s' can only be set where 'enabled' is true", field, key);
	}
	if (read_server_name(tls, ret, e) < 0 || read_ca(tls, ret, e) < 0)
		return -e->no;
	ret->tls = json_is_true(enabled);
	return 0;
}

static bool is_proxy_field(const char *key)
{
	static const char *const fields[] = { "address", "username", "password", "tls" };

	for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
		if (strcmp(key, fields[i]) == 0)
			return true;
	}
	return false;
}

/* *ret is empty if there is no proxy. The caller frees its certificates, also on failure. */
static int read_proxy(const json_t *network, struct rules_socks *ret, struct err *e)
{
	const json_t *proxy = json_object_get(network, "egressProxy");
	const char *key, *address;
	json_t *v;

	if (!proxy || json_is_null(proxy))
		return 0;
	if (!json_is_object(proxy))
		return err_set(e, EINVAL, "field 'network.egressProxy' must be an object");
	json_object_foreach((json_t *)proxy, key, v)
	{
		if (!is_proxy_field(key))
			return err_set(e, EINVAL, "field 'network.egressProxy' has an unknown field '%.60s'", key);
	}
	address = json_string_value(json_object_get(proxy, "address"));
	if (!address || read_address(address, ret) < 0)
		return err_set(e, EINVAL,
		    "field 'network.egressProxy.address' must be HOST:PORT of a proxy that is not this host itself");
	if (read_credential(proxy, "username", ret->user, e) < 0 ||
	    read_credential(proxy, "password", ret->password, e) < 0)
		return -e->no;
	if (ret->password[0] && !ret->user[0])
		return err_set(e, EINVAL, "field 'network.egressProxy.password' needs a 'username'");
	return read_tls(proxy, ret, e);
}

int spec_rules(const json_t *network, struct policy *p, struct err *e)
{
	struct rules_socks socks = { .host = "" };
	int no = check_rules(network, p, e) < 0 || read_proxy(network, &socks, e) < 0 ? -e->no : 0;

	if (no == 0 && socks.host[0])
		p->flags |= POLICY_SOCKS;
	free(socks.ca);
	explicit_bzero(&socks, sizeof socks);
	return no;
}

/* --- with the values of secrets ------------------------------------------------------------------------------ */

static int fill_header(const struct links *l, const char *team, struct rule *r, const char *name, const json_t *value,
    struct err *e)
{
	autobuf struct buf text = BUF_INIT(RULES_VALUE_MAX);
	struct str raw = { json_string_value(value), json_string_length(value) };
	bool secret = false;
	int no = secrets_fill(l, team, raw, &text, &secret, e);

	if (no == 0 && text.bad)
		no = err_set(e, E2BIG, "the value of '%.60s' is too long with its secrets", name);
	if (no == 0 && rules_add_field(r, str_of(name), str_trim(buf_view(&text)), secret) < 0)
		no = err_set(e, ENOMEM, "out of memory");
	if (text.p)
		explicit_bzero(text.p, text.n);
	return no;
}

static int fill_rule(const struct links *l, const char *team, json_t *headers, struct rule *r, bool strict,
    struct err *e)
{
	const char *name;
	json_t *value;

	json_object_foreach(headers, name, value)
	{
		if (fill_header(l, team, r, name, value, e) == 0)
			continue;
		if (strict) {
			(void)err_wrap(e, "field 'network.rules.%s'", r->domain);
			e->no = EINVAL;
			return -EINVAL;
		}
		r->broken = true;
	}
	return 0;
}

int spec_rules_fill(const struct links *l, const char *team, const json_t *network, bool strict, struct rules **ret,
    struct err *e)
{
	autobuf struct buf size = BUF_INIT(RULES_MAX);
	struct rules *all = rules_new();
	json_t *rules = json_object_get(network, "rules"), *list, *headers;
	const char *key;
	int no = all ? read_proxy(network, &all->socks, e) : err_set(e, ENOMEM, "out of memory");

	json_object_foreach(rules, key, list)
	{
		if (no < 0 || headers_of(list, key, &headers, e) < 0)
			continue; /* without headers it still takes precedence over a wildcard */
		struct rule *r = &all->v[all->n++];

		(void)clean_domain(key, r->domain);
		no = fill_rule(l, team, headers, r, strict, e);
	}
	if (no == 0) {
		rules_encode(all, &size);
		if (size.bad)
			no = err_set(e, EINVAL, "field 'network.rules' is larger than %d bytes with its secrets",
			    RULES_MAX);
		if (size.p)
			explicit_bzero(size.p, size.n);
	}
	if (no < 0) {
		rules_free(all);
		return no;
	}
	*ret = all;
	return 0;
}

/* --- for display and for copies ------------------------------------------------------------------------------ */

/* Removes a field of egressProxy; the values of copy are still shared with the original. */
static void drop_of_proxy(json_t *copy, const char *field)
{
	json_t *proxy = json_object_get(copy, "egressProxy");

	if (json_object_get(proxy, field)) {
		json_t *less = json_copy(proxy);

		(void)json_object_del(less, field);
		(void)json_object_set_new(copy, "egressProxy", less);
	}
}

json_t *spec_network_shown(const json_t *network)
{
	json_t *copy = json_copy((json_t *)network);

	drop_of_proxy(copy, "password");
	return copy;
}

json_t *spec_network_bare(const json_t *network)
{
	json_t *copy = json_copy((json_t *)network);

	(void)json_object_del(copy, "rules");
	drop_of_proxy(copy, "username");
	drop_of_proxy(copy, "password");
	return copy;
}

bool spec_network_secret(const json_t *network)
{
	return json_is_object(json_object_get(network, "rules")) ||
	    json_is_object(json_object_get(network, "egressProxy"));
}
