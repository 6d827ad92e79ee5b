/* SPDX-License-Identifier: Apache-2.0 */
/* store/copy: a copy of the state file while a server uses it, and what that says must be on the disk beside it. */
#pragma once

#include <stdint.h>

#include "base/err.h"

/* As of one moment, checked, in one file. to must not be there. */
int store_copy(const char *from, const char *to, struct err *e);

enum store_part {
	STORE_KEPT, /* of a sandbox, a snapshot or a template: a name that the warden knows */
	STORE_VOLUME,
	/* the id of a paused sandbox whose memory is not on disk; it has a part STORE_KEPT as well */
	STORE_UNWRITTEN,
};

/* Each name once. bytes: how much a volume may hold. A negative value of fn ends the walk and is returned. */
typedef int store_part_fn(void *user, enum store_part what, const char *name, uint64_t bytes);
/* -EPROTO: of a newer atoll */
int store_parts(const char *path, store_part_fn *fn, void *user, int *ret_version, struct err *e);
