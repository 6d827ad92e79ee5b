/* SPDX-License-Identifier: Apache-2.0 */
/* pull: images for templates. The warden starts atoll-pull and gives the front a socket to it. The warden sees
 * neither the messages on that socket nor the image. */
#pragma once

#include "base/err.h"

struct warden;

/* Before anything is served: opens atoll-pull and has it check the configuration of the registries, because only that
 * program interprets it. */
int pull_open(struct warden *w, struct err *e);

/* At start: deletes what killed servers and pulls have left of images, in a background process. */
void pull_tidy(struct warden *w);

/* -ENOENT: no image of that key is in the cache. */
int pull_check(const struct warden *w, const char *key, struct err *e);
