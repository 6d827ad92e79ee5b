/* SPDX-License-Identifier: Apache-2.0 */
/* front/sandbox/spec_network: the field 'network' of a new sandbox.
 *
 * A policy that cannot be enforced is refused: a sandbox that only seems to be restricted is worse than none. */
#include <string.h>

#include "base/fd.h"
#include "front/sandbox/spec.h"
#include "front/sandbox/spec_egress.h"
#include "front/sandbox/spec_rules.h"
#include "front/util/envd.h"
#include "http/json.h"
#include "ipc/rules.h"

#define MASK_HOST_MAX 255
#define HTTPS_PORTS_MAX 64

static int check_https_ports(const json_t *network, struct err *e)
{
	json_t *list = NULL, *v;
	size_t i;

	if (json_get_arr(network, "httpsPorts", &list, e) < 0)
		return err_wrap(e, "network");
	if (json_array_size(list) > HTTPS_PORTS_MAX)
		return err_set(e, EINVAL, "field 'network.httpsPorts' must have at most %d ports", HTTPS_PORTS_MAX);
	json_array_foreach(list, i, v)
	{
		json_int_t port = json_integer_value(v);

		if (port < 1 || port > 65535)
			return err_set(e, EINVAL, "field 'network.httpsPorts[%zu]' must be an integer from 1 to 65535",
			    i);
		if (port_is_ours((uint16_t)port))
			return err_set(e, EINVAL,
			    "field 'network.httpsPorts[%zu]': port %d is the sandbox's own, and speaks HTTP", i,
			    (int)port);
	}
	return 0;
}

bool spec_is_https(const struct spec *sp, uint16_t port)
{
	const json_t *list = json_object_get(sp->network, "httpsPorts");
	const json_t *v;
	size_t i;

	json_array_foreach((json_t *)list, i, v)
	{
		if (json_integer_value(v) == port)
			return true;
	}
	return false;
}

/* A host name, optionally with ":8080" or ":${PORT}"; ${PORT} may also be part of the name. */
static bool is_host(const char *z)
{
	const char *const place = "${PORT}";

	if (*z == '-' || *z == '.' || *z == ':')
		return false;
	while (*z && *z != ':') {
		if (strncmp(z, place, strlen(place)) == 0)
			z += strlen(place);
		else if (strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_", *z))
			z++;
		else
			return false;
	}
	if (!*z)
		return true;
	z++;
	return strcmp(z, place) == 0 || (*z && strlen(z) <= 5 && z[strspn(z, "0123456789")] == '\0');
}

static int check_mask(const char *mask, struct err *e)
{
	size_t n = strlen(mask);

	if (n == 0 || n > MASK_HOST_MAX)
		return err_set(e, EINVAL, "field 'network.maskRequestHost' must have 1 to %d characters",
		    MASK_HOST_MAX);
	if (!is_host(mask))
		return err_set(e, EINVAL,
		    "field 'network.maskRequestHost' must be a host name, with or without a port or ${PORT}");
	return 0;
}

int spec_check_secrets(const struct links *l, const char *team, const struct spec *sp, struct err *e)
{
	struct rules *r = NULL;

	if (!sp->network || !spec_network_secret(sp->network))
		return 0;
	if (spec_rules_fill(l, team, sp->network, true, &r, e) < 0)
		return -e->no;
	rules_free(r);
	return 0;
}

int spec_network(json_t *network, struct spec *sp, struct err *e)
{
	bool open_ports = true, silent = false;
	const char *mask = NULL;

	if (json_get_bool(network, "allowPublicTraffic", &open_ports, e) < 0 ||
	    json_get_str(network, "maskRequestHost", &mask, e) < 0)
		return err_wrap(e, "network");
	if (check_https_ports(network, e) < 0 || (mask && check_mask(mask, e) < 0) ||
	    spec_egress(network, sp->flags & SPEC_INTERNET_FALSE, &sp->policy, &silent, e) < 0)
		return -e->no;
	sp->flags = (sp->flags & ~SPEC_NO_INTERNET) | (silent ? SPEC_NO_INTERNET : 0);
	if (!open_ports)
		sp->flags |= SPEC_PRIVATE_TRAFFIC;
	sp->network = json_incref(network);
	sp->mask_host = mask; /* points into the object referenced above */
	return 0;
}
