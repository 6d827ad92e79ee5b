/* SPDX-License-Identifier: Apache-2.0 */
/* front/template/image_gc: asks atoll-pull to remove images that no template here is based on.
 *
 * atoll-pull gets the keys of the images in use, from the rows of the store and from builds in progress. It knows
 * by itself which images other servers use. No image is fetched meanwhile, because it would be in neither list. */
#pragma once

#include <stdbool.h>

#include "base/err.h"

struct builds;
struct image_gc;

/* After a failed build the client usually builds again soon, and should not wait for the image again. */
#define IMAGE_GC_IDLE_S 3600

/* e: NULL, or the error. */
typedef void image_gc_fn(void *user, unsigned removed, const struct err *e);

bool image_gc_busy(const struct builds *bs);

/* all: also those requested a moment ago. fn (may be NULL) is called once, perhaps from inside: with 0 if an image
 * is being fetched, because the end of that build calls image_gc() again. */
void image_gc(struct builds *bs, bool all, image_gc_fn *fn, void *user);
/* At the start: a state restored from a backup must be registered as a user of its images. */
void image_gc_begin(struct builds *bs);
void image_gc_stop(struct builds *bs); /* the front ends; no callback is called */
