/* SPDX-License-Identifier: Apache-2.0 */
/* front/link/dial: a connection to a port on a sandbox's own loopback, 127.0.0.1 or else ::1.
 *
 * The warden makes the socket inside and lets it connect; here it is waited for. */
#pragma once

#include <stdint.h>

struct dial;
struct links;

struct dial_result {
	int no;           /* 0; ECONNREFUSED: nobody listens there; else the sandbox cannot be reached */
	const char *text; /* why, if the warden had to say something */
	int fd;           /* connected, non-blocking, the receiver's now; -1 with no != 0 */
};

typedef void dial_fn(void *user, const struct dial_result *re);

/* fn is called once, never from in here; the dial is gone then. request: the correlation id. */
struct dial *dial_new(struct links *l, const char *id, uint16_t port, const char *request, dial_fn *fn, void *user);
void dial_free(struct dial *d); /* fn will not be called; NULL is fine */
