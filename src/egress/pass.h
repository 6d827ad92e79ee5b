/* SPDX-License-Identifier: Apache-2.0 */
/* pass: HTTP/1.1 from a sandbox to a server: every request is read, checked to be for the one host that was decided
 * on, written anew, and perhaps changed; answers go back as they are.
 *
 * After an upgrade that the server accepts (101) the bytes pass unread. One that it does not accept is the last
 * request of its connection: what follows could be read in two ways. h2c is not offered on. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"

struct pass;
struct stream;

#define PASS_FIELDS_MAX 20

struct pass_fields { /* set in each request, in place of what was there */
	size_t n;
	struct {
		struct str name, value;
	} v[PASS_FIELDS_MAX];
};

struct pass_ops {
	/* What to set in the next request, NULL: nothing; borrowed for the moment. *ret_ok false: it cannot be sent
	 * now. May be NULL. */
	const struct pass_fields *(*fields)(void *user, bool *ret_ok);
	void (*on_end)(void *user); /* it is over, and both streams are closed; once */
};

/* Owns both streams, also on failure (NULL: no memory). name: the host, as of host_parse(). first: what the client
 * has sent already. */
struct pass *pass_new(struct stream *client, struct stream *server, const char *name, struct str first,
    const struct pass_ops *ops, void *user);
void pass_start(struct pass *p); /* on_end may come inside this call */
void pass_free(struct pass *p);  /* both peers see a reset; NULL is fine */
