/* SPDX-License-Identifier: Apache-2.0 */
/* oci/pins: which server needs which image: CACHE/images/users/USER/KEY, an empty file each.
 *
 * Several servers of a machine share one cache, and each knows only its own templates. So a pull for a server
 * creates a pin before it announces the image, and an image is removed only when it has no pin. USER is a hash of
 * the path of the state directory, which is stored in USER/state. If the state directory was removed, or has not
 * been visible for long, its pins do not count. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

struct pins {
	int users_fd, own_fd; /* own_fd: -1 without a server */
};

#define PINS_NONE { .users_fd = -1, .own_fd = -1 }

/* state: NULL if the pull is not for a server. */
int pins_open(int images_fd, const char *state, struct pins *ret, struct err *e);
void pins_close(struct pins *p);

/* Must be held to pin an existing image, or to remove an image without a pin. */
int pins_lock(const struct pins *p, struct err *e);
void pins_unlock(const struct pins *p);

int pins_add(const struct pins *p, const char *key, struct err *e);             /* no-op without a server */
int pins_set(const struct pins *p, char *const *keys, size_t n, struct err *e); /* makes these our only pins */
/* Removes the pins of servers whose state is gone; takes the lock. */
int pins_drop_strays(const struct pins *p, struct err *e);
bool pins_any(const struct pins *p, const char *key); /* true also if it cannot be determined */
