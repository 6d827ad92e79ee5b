/* SPDX-License-Identifier: Apache-2.0 */
/* mcp/redact: takes secrets out of what is shown: those that are known, and what looks like one. */
#pragma once

#include <jansson.h>
#include <stddef.h>

#define REDACTED "[redacted]"

/* All strings in j, in place; not the data of images. secrets: NULL-terminated, or NULL. */
void redact_json(json_t *j, const char *const *secrets);
json_t *redact_string(json_t *s, const char *const *secrets);	/* takes s; a string with them taken out, maybe the same */

/* Of "NAME=value\0..." the values whose names say that they are secret; ret points into env, which gets NULs. Their number. */
size_t redact_env(char *env, size_t n, const char **ret, size_t max);
