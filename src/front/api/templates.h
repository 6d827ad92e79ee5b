/* SPDX-License-Identifier: Apache-2.0 */
/* front/api/templates: who may build templates, and their deletion. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct api;
struct req;

/* Builds run in sandboxes of namespaces. A caller for whom another engine is required is refused, and has the answer.
 */
bool templates_may_build(struct req *r);

/* Returns the number of deleted templates; *failed: the number of those that stay. */
int64_t templates_purge(struct api *a, const char *team, int64_t *failed);
