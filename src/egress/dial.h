/* SPDX-License-Identifier: Apache-2.0 */
/* dial: connects to the first of several addresses that answers, never to one that sandboxes must not reach.
 *
 * The check is made here although the firewall enforces the same: a name under foreign control may resolve to the
 * host itself, to its neighbours, or to a different address at each lookup (rebinding), and the connection comes
 * from the host. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/inet.h"

struct dial;
struct loop;

#define DIAL_ADDRS_MAX 8
#define DIAL_TRY_MS 5000

/* Private ranges that may be reached; set once, at the start. */
void dial_allow(const struct inet_ranges *r);
bool dial_may(uint32_t ip);

/* Passes a connected, non-blocking socket, owned by the receiver, or -errno. Called once unless cancelled, never
 * inside egress_dial_new(). */
typedef void dial_fn(void *user, int fd);

/* -EACCES: no address may be reached; -ENOMEM. */
int egress_dial_new(struct loop *l, const uint32_t *addrs, size_t n, uint16_t port, dial_fn *fn, void *user,
    struct dial **ret);
void dial_cancel(struct dial *d); /* NULL is fine */

void dial_keep_alive(int fd); /* TCP keepalive, so that dead peers are detected, and TCP_NODELAY */
