/* SPDX-License-Identifier: Apache-2.0 */
/* dial: a connection to the first of some addresses that answers, never to one that sandboxes may not reach.
 *
 * Checked here although the firewall holds the same: a name under somebody else's control may lead to the host
 * itself, to its neighbours, or to another address each time it is asked for (rebinding), and the connection is the
 * host's own. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/inet.h"

struct dial;
struct loop;

#define DIAL_ADDRS_MAX 8
#define DIAL_TRY_MS 5000
#define DIAL_RANGES_MAX 64

/* Private ranges that may be reached; set once, at the start. */
void dial_allow(const struct inet_range *r, size_t n);
bool dial_may(uint32_t ip);

/* A connected, non-blocking socket that is now the receiver's, or -errno; once unless cancelled, never inside
 * egress_dial_new(). */
typedef void dial_fn(void *user, int fd);

/* -EACCES: none of them may be reached; -ENOMEM. */
int egress_dial_new(struct loop *l, const uint32_t *addrs, size_t n, uint16_t port, dial_fn *fn, void *user,
    struct dial **ret);
void dial_cancel(struct dial *d); /* NULL is fine */

void dial_keep_alive(int fd); /* a peer that is gone without a word is found out; no delays */
