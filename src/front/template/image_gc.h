/* SPDX-License-Identifier: Apache-2.0 */
/* front/template/image_gc: has atoll-pull remove images that nothing here is built upon any more.
 *
 * It gets the keys of what is needed, by rows of the store and by builds under way; what other servers need it knows by
 * itself. No image is fetched meanwhile: it would be in neither list. */
#pragma once

#include <stdbool.h>

#include "base/err.h"

struct front;
struct image_gc;

/* whose build has failed will build again soon, and not want to wait for the image again */
#define IMAGE_GC_IDLE_S 3600

/* e: NULL, or why none were removed. */
typedef void image_gc_fn(void *user, unsigned removed, const struct err *e);

bool image_gc_busy(const struct front *f);

/* all: also those that were asked for a moment ago. fn (NULL: nobody asks) is called once, perhaps from inside: with 0
 * when an image is being fetched, as the end of its build leads here again. */
void image_gc(struct front *f, bool all, image_gc_fn *fn, void *user);
/* at start: a state that was put back from a backup has to be known as a user of its images */
void image_gc_begin(struct front *f);
void image_gc_stop(struct front *f); /* the front ends; nobody is called */
