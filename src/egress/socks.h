/* SPDX-License-Identifier: Apache-2.0 */
/* socks: asks a SOCKS5 proxy (RFC 1928, 1929) to connect on, over a connection to it. */
#pragma once

#include <stdint.h>

#include "ipc/rules.h"

struct loop;
struct socks;

#define SOCKS_MS 15000

/* The connection, now through the proxy and the receiver's, or -errno; once unless cancelled, never inside
 * socks_new(). */
typedef void socks_fn(void *user, int fd);

/* Owns fd, also on failure (NULL: no memory). name "": by the address. What is of *how is copied. */
struct socks *socks_new(struct loop *l, int fd, const struct rules_socks *how, const char *name, uint32_t ip,
    uint16_t port, socks_fn *fn, void *user);
void socks_cancel(struct socks *s); /* NULL is fine */
