/* SPDX-License-Identifier: Apache-2.0 */
/* cli/host/engine_store: the programs of isolation engines in the cache directory, CACHE/engines/ENGINE/.
 *
 * Each version is a file of its own, PROGRAM-VERSION, and the link PROGRAM names the one that new sandboxes use. A file
 * is replaced by rename: a sandbox that runs keeps the file that it was started from. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "cli/host/gobinary.h"
#include "cli/host/sums.h"

struct engine_pin { /* the one version of an engine that this version of atoll works with */
	const char *engine, *program;
	const char *package, *module; /* of Go */
	const char *version, *source_sum;
	const char *const
	    *file_sums; /* SHA-256 of files that `atoll engine install` is known to build; ends with NULL */
};

struct engine_found {
	bool is_there;
	char path[256];
	char version[GOBINARY_TEXT];
	char problem[200]; /* why it cannot be used; "": it can */
};

const struct engine_pin *engine_pin_of(const char *engine);           /* NULL: no engine that is installed */
const struct engine_pin *engine_pin_next(const struct engine_pin *p); /* of all, from NULL; NULL: no more */

bool engine_sum_known(const struct engine_pin *p, const char *hex);

/* What is in the cache. Never fails. */
void engine_look(const char *cache, const struct engine_pin *p, struct engine_found *ret);

/* Copies the program from an open file that anybody may have made, checks the copy, and puts it into place. want: the
 * checksum that it must have, or NULL. On failure, everything is as it was. */
int engine_place(const char *cache, const struct engine_pin *p, int from, const char *want, char ret_sum[SUMS_HEX_SIZE],
    struct err *e);

/* Removes all versions. -ENOENT: there is none. */
int engine_remove(const char *cache, const struct engine_pin *p, struct err *e);
