/* SPDX-License-Identifier: Apache-2.0 */
/* engines: a table of names. */
#include "base/engines.h"

#include <errno.h>
#include <string.h>

static const char *const names[ENGINE_KINDS] = {
	[ENGINE_NAMESPACES] = "namespaces",
	[ENGINE_GVISOR] = "gvisor",
};

const char *engine_kind_name(uint32_t kind)
{
	return kind < ENGINE_KINDS ? names[kind] : "?";
}

int engine_kind_of(const char *name, uint32_t *ret)
{
	for (uint32_t i = 0; i < ENGINE_KINDS; i++) {
		if (strcmp(name, names[i]) == 0) {
			*ret = i;
			return 0;
		}
	}
	return -EINVAL;
}
