/* SPDX-License-Identifier: Apache-2.0 */
/* mcp/schema: checks arguments against the part of JSON Schema that our own tools use. */
#pragma once

#include <jansson.h>

#include "base/err.h"

/* type, enum, properties, required, additionalProperties (false, or a schema), items, minItems, maxItems, minLength,
 * maxLength, minimum, maximum. -EINVAL: the text names the argument and what it must be; nothing of its value. */
int schema_check(const json_t *schema, const json_t *value, struct err *e);
