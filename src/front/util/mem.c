/* SPDX-License-Identifier: Apache-2.0 */
/* front/util/mem: allocation that ends the process on failure. */
#include "front/util/mem.h"

#include <stdlib.h>

#include "base/log.h"

static void *or_end(void *p, size_t size)
{
	if (!p) {
		log_error("out of memory, exiting to be restarted", "bytes=%zu", size);
		abort();
	}
	return p;
}

void *must_alloc(size_t size)
{
	return or_end(calloc(1, size), size);
}

void *must_grow(void *p, size_t size)
{
	return or_end(realloc(p, size), size);
}

char *must_dup(const char *z)
{
	return z ? or_end(strdup(z), strlen(z)) : NULL;
}

char *must_dup_str(struct str s)
{
	return or_end(str_dup(s), s.n);
}
