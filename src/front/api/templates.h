/* SPDX-License-Identifier: Apache-2.0 */
/* front/api/templates: deletes templates. */
#pragma once

#include <stdint.h>

struct api;

/* Returns the number of deleted templates; *failed: the number of those that stay. */
int64_t templates_purge(struct api *a, const char *team, int64_t *failed);
