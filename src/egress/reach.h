/* SPDX-License-Identifier: Apache-2.0 */
/* reach: a connection to a name or an address, looked up by ourselves, and perhaps through a SOCKS5 proxy, which then
 * looks the name up. */
#pragma once

#include <stdint.h>

struct loop;
struct reach;
struct resolver;
struct rules_socks;

struct reach_spec {
	struct loop *loop;
	struct resolver *resolver;
	uint32_t client;  /* for whom */
	const char *name; /* "": by the address */
	uint32_t ip;
	uint16_t port;
	const struct rules_socks *socks; /* NULL: directly; copied */
};

/* A connected socket, now the receiver's, or -errno (-EACCES: it leads to an address that is closed; -ENOENT: no such
 * name); once unless cancelled, never inside reach_new(). */
typedef void reach_fn(void *user, int fd);

struct reach *reach_new(const struct reach_spec *sp, reach_fn *fn, void *user); /* NULL: no memory */
void reach_cancel(struct reach *r);                                             /* NULL is fine */
