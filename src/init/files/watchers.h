/* SPDX-License-Identifier: Apache-2.0 */
/* watchers: the watchers that clients poll (CreateWatcher), and how many there are of both kinds. */
#pragma once

#include <stddef.h>

#define WATCHERS_MAX 64 /* the kernel allows 128 instances, and programs inside want some too */

struct polled;

struct watchers {
	struct polled *polled;
	size_t n_open; /* streams included */
};
