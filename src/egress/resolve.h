/* SPDX-License-Identifier: Apache-2.0 */
/* resolve: looks up the addresses of a name and caches them for the answer's TTL. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

struct forwarder;
struct loop;
struct resolve;
struct resolver;

#define RESOLVE_ADDRS_MAX 8

/* n 0: no such name, or no answer. Called once unless cancelled, never inside resolve_ask(). */
typedef void resolve_fn(void *user, const uint32_t *addrs, size_t n);

struct resolver *resolver_new(struct loop *l, struct forwarder *fw); /* NULL: out of memory */

/* client: as in forward_ask(). -EINVAL, -EBUSY, -ENOMEM. */
int resolve_ask(struct resolver *rv, uint32_t client, struct str name, resolve_fn *fn, void *user,
    struct resolve **ret);
void resolve_cancel(struct resolve *r); /* NULL is fine */
