/* SPDX-License-Identifier: Apache-2.0 */
/* store/copy: copies the state file while a server uses it, and lists what else must be on disk with it. */
#pragma once

#include <stdint.h>

#include "base/err.h"

/* Writes a consistent copy to one file and checks it. `to` must not exist. */
int store_copy(const char *from, const char *to, struct err *e);

enum store_part {
	STORE_KEPT, /* of a sandbox, a snapshot or a template: a name known to the warden */
	STORE_VOLUME,
	/* the id of a paused sandbox whose memory is not on disk; it has a STORE_KEPT part as well */
	STORE_UNWRITTEN,
};

/* Each name is reported once. bytes: the quota of a volume. A negative return value of fn ends the walk and is
 * returned. */
typedef int store_part_fn(void *user, enum store_part what, const char *name, uint64_t bytes);
/* -EPROTO: written by a newer atoll */
int store_parts(const char *path, store_part_fn *fn, void *user, int *ret_version, struct err *e);
