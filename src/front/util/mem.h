/* SPDX-License-Identifier: Apache-2.0 */
/* front/util/mem: small allocations that cannot fail.
 *
 * The front ends when the host has no memory left: no sandbox dies with it, and the warden starts a
 * new one. Half-working without memory would be harder to get right than that. */
#pragma once

#include <stddef.h>

#include "base/str.h"

void *must_alloc(size_t size); /* zeroed */
void *must_grow(void *p, size_t size);
char *must_dup(const char *z); /* NULL stays NULL */
char *must_dup_str(struct str s);
