/* SPDX-License-Identifier: Apache-2.0 */
/* mcp/schema: checks arguments against the subset of JSON Schema that the tools use. */
#pragma once

#include <jansson.h>

#include "base/err.h"

/* Keywords: type, enum, properties, required, additionalProperties (false or a schema), items, minItems, maxItems,
 * minLength, maxLength, minimum, maximum. -EINVAL: the error names the argument and the constraint, never the value. */
int schema_check(const json_t *schema, const json_t *value, struct err *e);
