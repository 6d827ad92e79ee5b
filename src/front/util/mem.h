/* SPDX-License-Identifier: Apache-2.0 */
/* front/util/mem: small allocations that cannot fail.
 *
 * If the host is out of memory, the front aborts: no sandbox dies with it, and the warden starts a new front.
 * Handling each failed allocation would be harder to get right. */
#pragma once

#include <stddef.h>

#include "base/str.h"

void *must_alloc(size_t size); /* zeroed */
void *must_grow(void *p, size_t size);
char *must_dup(const char *z); /* NULL stays NULL */
char *must_dup_str(struct str s);
