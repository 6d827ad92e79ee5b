/* SPDX-License-Identifier: Apache-2.0 */
/* oci/policy: configured mirrors and registries, and forbidden addresses. */
#include "oci/policy.h"

#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "base/inet.h"

#define DOCKER_HUB "registry-1.docker.io" /* the host that serves docker.io */

int origin_parse(struct str url, struct origin *ret, struct str *ret_path)
{
	struct str rest = url;
	bool http = str_starts(url, "http://");

	if (!http && !str_starts(url, "https://"))
		return -EINVAL;
	str_skip(&rest, http ? 7 : 8);
	size_t n = 0;

	while (n < rest.n && rest.p[n] != '/' && rest.p[n] != '?' && rest.p[n] != '#')
		n++;
	if (ref_host((struct str) { rest.p, n }, ret->host) < 0) /* rejects '@' */
		return -EINVAL;
	ret->http = http;
	/* Normal form: the default port is left out. */
	size_t len = strlen(ret->host);
	const char *usual = http ? ":80" : ":443";
	if (str_ends(str_of(ret->host), usual))
		ret->host[len - strlen(usual)] = '\0';
	str_skip(&rest, n);
	if (ret_path)
		*ret_path = rest;
	return 0;
}

bool origin_eq(const struct origin *a, const struct origin *b)
{
	return a->http == b->http && strcmp(a->host, b->host) == 0;
}

static bool path_ok(struct str path)
{
	for (size_t i = 0; i < path.n; i++) {
		char c = path.p[i];

		if (!(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z') && !(c >= '0' && c <= '9') && !strchr("/._-", c))
			return false;
	}
	return path.n < POLICY_PATH_SIZE;
}

static int add(struct policy *p, struct str of, struct str url, struct err *e)
{
	struct str path;

	if (p->n == POLICY_ENTRIES_MAX)
		return err_set(e, E2BIG, "more than %d mirrors and registries", POLICY_ENTRIES_MAX);
	memset(&p->entry[p->n], 0, sizeof p->entry[p->n]);
	if (of.n > 0 && ref_host(of, p->entry[p->n].of) < 0)
		return err_set(e, EINVAL, "'%.*s' is not the name of a registry", STR_ARG(of));
	if (origin_parse(url, &p->entry[p->n].at, &path) < 0)
		return err_set(e, EINVAL,
		    "'%.*s' is not the address of a registry: http:// or https://, a host, perhaps a port and a path",
		    STR_ARG(url));
	while (str_ends(path, "/"))
		path.n--;
	if (!path_ok(path))
		return err_set(e, EINVAL, "'%.*s' is not a path of a registry", STR_ARG(path));
	(void)str_copy(p->entry[p->n].path, POLICY_PATH_SIZE, path.p ? path : STR_LIT(""));
	p->n++;
	return 0;
}

int policy_add_mirror(struct policy *p, struct str text, struct err *e)
{
	struct str url = text, of = str_cut(&url, '=');

	if (!url.p || of.n == 0)
		return err_set(e, EINVAL, "'%.*s': a mirror is written REGISTRY=URL", STR_ARG(text));
	return add(p, of, url, e);
}

int policy_add_registry(struct policy *p, struct str text, struct err *e)
{
	char url[REF_HOST_SIZE + 16];

	if (str_starts(text, "http://") || str_starts(text, "https://"))
		return add(p, STR_NULL, text, e);
	int n = snprintf(url, sizeof url, "https://%.*s", STR_ARG(text));

	if (n < 0 || (size_t)n >= sizeof url)
		return err_set(e, EINVAL, "the name of a registry is too long");
	return add(p, STR_NULL, str_of(url), e);
}

static int add_list(struct policy *p, struct str list, int (*one)(struct policy *, struct str, struct err *),
    struct err *e)
{
	while (list.p) {
		struct str item = str_trim(str_cut(&list, ','));

		while (item.p && item.n > 0) {
			struct str word = str_trim(str_cut(&item, ' '));

			if (word.n > 0 && one(p, word, e) < 0)
				return -e->no;
		}
	}
	return 0;
}

int policy_add_mirrors(struct policy *p, struct str list, struct err *e)
{
	return add_list(p, list, policy_add_mirror, e);
}

int policy_add_registries(struct policy *p, struct str list, struct err *e)
{
	return add_list(p, list, policy_add_registry, e);
}

bool policy_endpoint(const struct policy *p, const char *host, size_t i, struct endpoint *ret)
{
	*ret = (struct endpoint) { 0 };
	for (size_t k = 0; k < p->n; k++) {
		if (!p->entry[k].of[0] || strcmp(p->entry[k].of, host) != 0 || i-- > 0)
			continue;
		ret->at = p->entry[k].at;
		memcpy(ret->path, p->entry[k].path, sizeof ret->path);
		ret->mirror = ret->named = true;
		return true;
	}
	if (i > 0)
		return false;
	/* The registry itself: with TLS, unless it was configured without. */
	(void)str_copy(ret->at.host, sizeof ret->at.host, str_of(strcmp(host, "docker.io") == 0 ? DOCKER_HUB : host));
	for (size_t k = 0; k < p->n; k++) {
		if (!p->entry[k].of[0] && strcmp(p->entry[k].at.host, host) == 0) {
			ret->at.http = p->entry[k].at.http;
			memcpy(ret->path, p->entry[k].path, sizeof ret->path);
		}
	}
	ret->named = policy_is_registry(p, &ret->at);
	return true;
}

static bool is_named(const struct policy *p, const struct origin *o)
{
	for (size_t k = 0; k < p->n; k++) {
		if (origin_eq(&p->entry[k].at, o))
			return true;
	}
	return false;
}

bool policy_may_ask(const struct policy *p, const struct origin *o)
{
	return !o->http || is_named(p, o);
}

bool policy_is_registry(const struct policy *p, const struct origin *o)
{
	for (size_t k = 0; k < p->n; k++) {
		if (!p->entry[k].of[0] && origin_eq(&p->entry[k].at, o))
			return true;
	}
	return false;
}

bool policy_is_private(const struct sockaddr *sa)
{
	return inet_addr_is_private(sa);
}

bool policy_is_closed(const struct sockaddr *sa)
{
	return inet_addr_is_private(sa) || inet_addr_is_own(sa);
}
