/* SPDX-License-Identifier: Apache-2.0 */
/* front/link/dial: a connection to a port on a sandbox's own loopback, 127.0.0.1 or else ::1.
 *
 * The warden creates the socket inside the sandbox and begins to connect; the front waits for the result. */
#pragma once

#include <stdint.h>

struct dial;
struct links;

struct dial_result {
	int no;           /* 0; ECONNREFUSED: no server on that port; other values: the sandbox cannot be reached */
	const char *text; /* message of the warden, if any */
	int fd;           /* connected, non-blocking, now owned by the receiver; -1 if no != 0 */
};

typedef void dial_fn(void *user, const struct dial_result *re);

/* fn is called once, never from inside; the dial has been freed by then. request: the correlation id. */
struct dial *dial_new(struct links *l, const char *id, uint16_t port, const char *request, dial_fn *fn, void *user);
void dial_free(struct dial *d); /* fn will not be called; NULL is fine */
