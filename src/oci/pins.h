/* SPDX-License-Identifier: Apache-2.0 */
/* oci/pins: which server needs which image: CACHE/images/users/USER/KEY, an empty file each.
 *
 * Several servers of a machine share one cache, and each knows only its own templates. So a pull for a server leaves a
 * pin before anybody is told of the image, and an image is removed only when nobody has one. USER follows from the
 * state directory, which USER/state names: when that was removed, or is out of sight for long, its pins do not
 * count. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

struct pins {
	int users_fd, own_fd; /* own_fd: -1 without a server */
};

#define PINS_NONE { .users_fd = -1, .own_fd = -1 }

/* state: NULL, not for a server */
int pins_open(int images_fd, const char *state, struct pins *ret, struct err *e);
void pins_close(struct pins *p);

/* Whoever pins what is there already, or removes what has no pin, has to be alone with it. */
int pins_lock(const struct pins *p, struct err *e);
void pins_unlock(const struct pins *p);

int pins_add(const struct pins *p, const char *key, struct err *e);             /* without a server: nothing */
int pins_set(const struct pins *p, char *const *keys, size_t n, struct err *e); /* these are our pins, and no others */
/* of servers whose state is gone; takes the lock */
int pins_drop_strays(const struct pins *p, struct err *e);
bool pins_any(const struct pins *p, const char *key); /* true also if nobody can tell */
