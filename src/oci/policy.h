/* SPDX-License-Identifier: Apache-2.0 */
/* oci/policy: which registries may be asked, and how.
 *
 * An image is fetched from the host's own network, and its name is chosen by users: without rules anybody who may build
 * a template could reach what only this host reaches (a service on loopback, the metadata address of a cloud, the
 * neighbours). So an address that is not a public one, or is one of this host, is refused, whatever name led to it,
 * unless the operator has named that very registry, as one to be used or as a mirror of the one that is asked for. What
 * a registry leads to (a redirect, a token service) is another's word, and no way around that; and plain HTTP is spoken
 * only with those that were named so. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

#include "base/err.h"
#include "base/str.h"
#include "oci/ref.h"

#define POLICY_ENTRIES_MAX 32
#define POLICY_PATH_SIZE 128

struct origin {                   /* who answers at a URL */
	bool http;                /* without TLS */
	char host[REF_HOST_SIZE]; /* and port, unless it is the usual one */
};

struct policy {
	struct {
		char of[REF_HOST_SIZE]; /* of which registry it is a mirror; "": one that may be used as itself */
		struct origin at;
		char path[POLICY_PATH_SIZE]; /* before the name of the repository: "/hub", or "" */
	} entry[POLICY_ENTRIES_MAX];
	size_t n;
};

/* "docker.io=http://127.0.0.1:5000" or "…/hub": asked before the registry itself, in the order of the list. */
int policy_add_mirror(struct policy *p, struct str text, struct err *e);

/* "10.0.0.5:5000", "https://registry.example", "http://127.0.0.1:5000": may be at a private address. */
int policy_add_registry(struct policy *p, struct str text, struct err *e);

/* Lists of them, with commas or blanks between. */
int policy_add_mirrors(struct policy *p, struct str list, struct err *e);
int policy_add_registries(struct policy *p, struct str list, struct err *e);

struct endpoint { /* a place where a registry's images are */
	struct origin at;
	char path[POLICY_PATH_SIZE];
	bool mirror;
	bool named; /* by the operator, for images of that host: it may be at a private address */
};

/* The i-th place for images of that host, mirrors first; false: there are no more. */
bool policy_endpoint(const struct policy *p, const char *host, size_t i, struct endpoint *ret);

/* "http://host:port/…": -EINVAL for any other scheme, a user name in it, or a host that is none. */
int origin_parse(struct str url, struct origin *ret, struct str *ret_path);
bool origin_eq(const struct origin *a, const struct origin *b);

/* May this be asked at all? false: plain HTTP with one that was not named so. */
bool policy_may_ask(const struct policy *p, const struct origin *o);

/* Was it named as a registry that may be used as itself? */
bool policy_is_registry(const struct policy *p, const struct origin *o);

/* Loopback, private, link-local, shared, metadata, multicast, and addresses of IPv6 that stand for one of those. */
bool policy_is_private(const struct sockaddr *sa);
bool policy_is_closed(const struct sockaddr *sa); /* and those of this host */
