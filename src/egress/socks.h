/* SPDX-License-Identifier: Apache-2.0 */
/* socks: asks a SOCKS5 proxy (RFC 1928, 1929) for a connection, over an established connection to the proxy. */
#pragma once

#include <stdint.h>

#include "ipc/rules.h"

struct loop;
struct socks;

#define SOCKS_MS 15000

/* Passes the socket, now connected through the proxy and owned by the receiver, or -errno. Called once unless
 * cancelled, never inside socks_new(). */
typedef void socks_fn(void *user, int fd);

/* Owns fd, also on failure (NULL: out of memory). name "": connect to ip. *how is copied. */
struct socks *socks_new(struct loop *l, int fd, const struct rules_socks *how, const char *name, uint32_t ip,
    uint16_t port, socks_fn *fn, void *user);
void socks_cancel(struct socks *s); /* NULL is fine */
