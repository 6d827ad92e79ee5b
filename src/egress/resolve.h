/* SPDX-License-Identifier: Apache-2.0 */
/* resolve: the addresses of a name, asked for by ourselves and kept for as long as the answer says. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

struct forwarder;
struct loop;
struct resolve;
struct resolver;

#define RESOLVE_ADDRS_MAX 8

/* n 0: there is no such name, or nobody answered. Called once unless cancelled, never inside resolve_ask(). */
typedef void resolve_fn(void *user, const uint32_t *addrs, size_t n);

struct resolver *resolver_new(struct loop *l, struct forwarder *fw); /* NULL: no memory */

/* client: whose question it is, as in forward_ask(). -EINVAL, -EBUSY, -ENOMEM. */
int resolve_ask(struct resolver *rv, uint32_t client, struct str name, resolve_fn *fn, void *user,
    struct resolve **ret);
void resolve_cancel(struct resolve *r); /* NULL is fine */
