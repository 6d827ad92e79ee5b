/* SPDX-License-Identifier: Apache-2.0 */
/* tls_hop: TLS to a proxy behind a plain local socket, so that users of the connection need not know about TLS. */
#pragma once

struct loop;
struct rules_socks;

#define TLS_HOP_TICK_MS 5000 /* interval of the check whether the local end is still open */
#define TLS_HOP_TICKS 2      /* that the handshake may take */

/* Owns fd, a connection to the proxy, also on failure. Returns a socket, owned by the caller, whose bytes are sent
 * through TLS, or -errno. The socket is closed if the proxy's certificate is not valid. *how is copied. The hop
 * ends when both ends are closed. */
int tls_hop(struct loop *l, int fd, const struct rules_socks *how);
