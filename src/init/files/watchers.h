/* SPDX-License-Identifier: Apache-2.0 */
/* watchers: the watchers that clients poll (CreateWatcher), and the number of open watchers of both kinds. */
#pragma once

#include <stddef.h>

#define WATCHERS_MAX 64 /* the kernel allows 128 instances, and programs inside need some too */

struct polled;

struct watchers {
	struct polled *polled;
	size_t n_open; /* streams included */
};
