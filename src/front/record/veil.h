/* SPDX-License-Identifier: Apache-2.0 */
/* front/record/veil: values of variables that are secret by their names (base/secretive.h) are not written down where
 * texts are kept: in notebooks, and with the audit trail. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "base/str.h"

struct buf;

/* Of an object of variables those that are secret go into *list, which is made when it is NULL; of more than 64, or 64
 * KB, the oldest go. envs: NULL is fine. */
void veil_learn(json_t **list, const json_t *envs);

/* The text without them: itself if there are none in it, else what was put into out. as_json: lines of JSON, events of
 * an execution: they stay JSON, with the type that they have. */
struct str veil(struct str text, const json_t *list, bool as_json, struct buf *out);
