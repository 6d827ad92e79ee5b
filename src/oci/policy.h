/* SPDX-License-Identifier: Apache-2.0 */
/* oci/policy: which registries may be contacted, and how.
 *
 * Images are fetched over the host's own network, and users choose their names. Without rules, every user who may
 * build a template could reach what only this host can reach (a service on loopback, a cloud's metadata address,
 * neighbours). So an address that is not public, or belongs to this host, is refused whatever name resolves to it,
 * unless the operator has configured that very registry, or a mirror of it. A registry's redirects and token
 * services are not exempt. Plain HTTP is used only with registries that were configured with it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

#include "base/err.h"
#include "base/str.h"
#include "oci/ref.h"

#define POLICY_ENTRIES_MAX 32
#define POLICY_PATH_SIZE 128

struct origin {                   /* scheme, host and port of a URL */
	bool http;                /* without TLS */
	char host[REF_HOST_SIZE]; /* with the port, unless it is the default one */
};

struct policy {
	struct {
		char of[REF_HOST_SIZE]; /* the registry it mirrors; "": a registry that may be used itself */
		struct origin at;
		char path[POLICY_PATH_SIZE]; /* prefix of the repository's name: "/hub", or "" */
	} entry[POLICY_ENTRIES_MAX];
	size_t n;
};

/* "docker.io=http://127.0.0.1:5000" or "…/hub". Mirrors are tried before the registry itself, in the order of the
 * list. */
int policy_add_mirror(struct policy *p, struct str text, struct err *e);

/* "10.0.0.5:5000", "https://registry.example", "http://127.0.0.1:5000". It may be at a private address. */
int policy_add_registry(struct policy *p, struct str text, struct err *e);

/* Lists of these, separated by commas or blanks. */
int policy_add_mirrors(struct policy *p, struct str list, struct err *e);
int policy_add_registries(struct policy *p, struct str list, struct err *e);

struct endpoint { /* a server that has a registry's images */
	struct origin at;
	char path[POLICY_PATH_SIZE];
	bool mirror;
	bool named; /* configured for images of that host: may be at a private address */
};

/* The i-th endpoint for images of that host, mirrors first; false: no more. */
bool policy_endpoint(const struct policy *p, const char *host, size_t i, struct endpoint *ret);

/* "http://host:port/…". -EINVAL for another scheme, a user name, or an invalid host. */
int origin_parse(struct str url, struct origin *ret, struct str *ret_path);
bool origin_eq(const struct origin *a, const struct origin *b);

/* False for plain HTTP with an origin that was not configured with it. */
bool policy_may_ask(const struct policy *p, const struct origin *o);

/* Whether it is configured as a registry. */
bool policy_is_registry(const struct policy *p, const struct origin *o);

/* Loopback, private, link-local, shared, metadata, multicast, and IPv6 addresses that embed one of those. */
bool policy_is_private(const struct sockaddr *sa);
bool policy_is_closed(const struct sockaddr *sa); /* private, or of this host */
