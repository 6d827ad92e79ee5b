/* SPDX-License-Identifier: Apache-2.0 */
/* front/record/veil: redacts the values of variables whose names mark them as secret (base/secretive.h) in stored
 * texts: in notebooks and in the audit trail. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "base/str.h"

struct buf;

/* The values of one sandbox. Several threads may use them, each with a reference. */
struct veiled;
struct veiled *veiled_new(void);
struct veiled *veiled_ref(struct veiled *v);
void veiled_unref(struct veiled *v); /* NULL is fine */
void veiled_learn(struct veiled *v, const json_t *envs);
struct str veiled_text(struct veiled *v, struct str text, bool as_json, struct buf *out);

/* Adds the secret variables of an object to *list, which is created if it is NULL. If there are more than 64
 * values, or 64 KB, the oldest are dropped. envs may be NULL. */
void veil_learn(json_t **list, const json_t *envs);

/* Returns the text without these values: text itself if it has none, else the redacted copy in out. as_json: the
 * text is lines of JSON, events of an execution; they stay valid JSON of the same type. */
struct str veil(struct str text, const json_t *list, bool as_json, struct buf *out);
