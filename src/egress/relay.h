/* SPDX-License-Identifier: Apache-2.0 */
/* relay: bytes between two sockets, both ways, moved by the kernel without a copy (splice). A side that ends is
 * half-closed on the other. */
#pragma once

#include <stddef.h>

#include "base/str.h"

struct loop;
struct relay;

typedef void relay_fn(void *user); /* it is over, and the sockets are closed; once, never inside relay_new() */

/* Owns both fds, also on failure (NULL: no memory or fds). first: what the second one gets before all else. */
struct relay *relay_new(struct loop *l, int a, int b, struct str first, relay_fn *fn, void *user);
void relay_free(struct relay *r); /* both peers see a reset; NULL is fine */
