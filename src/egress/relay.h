/* SPDX-License-Identifier: Apache-2.0 */
/* relay: moves bytes between two sockets in both directions with splice(), without copying. When one side ends,
 * the other is half-closed. */
#pragma once

#include <stddef.h>

#include "base/str.h"

struct loop;
struct relay;

typedef void relay_fn(void *user); /* the sockets are closed; called once, never inside relay_new() */

/* Owns both fds, also on failure (NULL: out of memory or fds). first: bytes that b gets before anything else. */
struct relay *relay_new(struct loop *l, int a, int b, struct str first, relay_fn *fn, void *user);
void relay_free(struct relay *r); /* both peers get a reset; NULL is fine */
