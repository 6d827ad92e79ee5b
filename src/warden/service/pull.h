/* SPDX-License-Identifier: Apache-2.0 */
/* pull: images for templates. The warden starts atoll-pull and gives the front a socket to it; what is said there, and
 * the image, are no business of the warden. */
#pragma once

#include "base/err.h"

struct warden;

/* Before anything is served: what the configuration says about registries must make sense to the program that will use
 * it. */
int pull_check_config(const struct warden *w, struct err *e);

/* At start: what servers and pulls that were ended have left of images is deleted, by a process that nobody waits
 * for. */
void pull_tidy(struct warden *w);

/* -ENOENT: no image of that key is in the cache. */
int pull_check(const struct warden *w, const char *key, struct err *e);
