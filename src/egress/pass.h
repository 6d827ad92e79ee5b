/* SPDX-License-Identifier: Apache-2.0 */
/* pass: HTTP/1.1 from a sandbox to a server. Every request is parsed, checked to be for the one allowed host,
 * serialized again, and possibly changed; answers are passed back unchanged.
 *
 * After an accepted upgrade (101) the bytes are passed without parsing. A request whose upgrade is not accepted is
 * the last one of its connection, because what follows it is ambiguous. Upgrades to h2c are not forwarded. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"

struct pass;
struct stream;

#define PASS_FIELDS_MAX 20

struct pass_fields { /* set in each request, replacing existing fields */
	size_t n;
	struct {
		struct str name, value;
	} v[PASS_FIELDS_MAX];
};

struct pass_ops {
	/* The fields to set in the next request, NULL: none; valid until the next call. *ret_ok false: the request
	 * cannot be sent now. May be NULL. */
	const struct pass_fields *(*fields)(void *user, bool *ret_ok);
	void (*on_end)(void *user); /* both streams are closed; called once */
};

/* Owns both streams, also on failure (NULL: out of memory). name: the host, as returned by host_parse(). first:
 * what the client has already sent. */
struct pass *pass_new(struct stream *client, struct stream *server, const char *name, struct str first,
    const struct pass_ops *ops, void *user);
void pass_start(struct pass *p); /* may call on_end */
void pass_free(struct pass *p);  /* both peers get a reset; NULL is fine */
