/* SPDX-License-Identifier: Apache-2.0 */
/* tls_hop: TLS to a proxy, with a plain socket of our own on this side of it, so that all who use connections need not
 * know. */
#pragma once

struct loop;
struct rules_socks;

#define TLS_HOP_TICK_MS 5000 /* how often it is looked whether anybody is still there */
#define TLS_HOP_TICKS 2      /* that the handshake may take */

/* Owns fd, a connection to the proxy, also on failure. A socket whose bytes go through TLS, the receiver's; it ends
 * when the proxy does not show that it is who it should be. -errno. What is of *how is copied. The hop ends with its
 * two ends. */
int tls_hop(struct loop *l, int fd, const struct rules_socks *how);
