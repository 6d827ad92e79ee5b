/* SPDX-License-Identifier: Apache-2.0 */
/* reach: connects to a name, which is resolved here, or to an address. With a SOCKS5 proxy, the proxy resolves the
 * name. */
#pragma once

#include <stdint.h>

struct loop;
struct reach;
struct resolver;
struct rules_socks;

struct reach_spec {
	struct loop *loop;
	struct resolver *resolver;
	uint32_t client;  /* on whose behalf */
	const char *name; /* "": connect to ip */
	uint32_t ip;
	uint16_t port;
	const struct rules_socks *socks; /* NULL: connect directly; copied */
};

/* Passes a connected socket, owned by the receiver, or -errno (-EACCES: resolves to a forbidden address; -ENOENT:
 * no such name). Called once unless cancelled, never inside reach_new(). */
typedef void reach_fn(void *user, int fd);

struct reach *reach_new(const struct reach_spec *sp, reach_fn *fn, void *user); /* NULL: out of memory */
void reach_cancel(struct reach *r);                                             /* NULL is fine */
