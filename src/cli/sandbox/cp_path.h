/* SPDX-License-Identifier: Apache-2.0 */
/* cli/sandbox/cp_path: parses the source and destination of a copy. No I/O. */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "base/str.h"

struct cp_path {
	char id[64];      /* of the sandbox; empty for a local path */
	const char *path; /* points into the argument; "." for "ID:" */
	bool is_stream;   /* "-": standard input or output */
	bool wants_dir;   /* it ends with a slash */
};

/* "ID:PATH" is in a sandbox if no slash precedes the colon, as in scp(1). "./a:b" is local. */
int cp_path_parse(const char *arg, struct cp_path *ret, struct err *e);

/* Returns the last component of a path; empty for "/", "." and "..", which have no name of their own. */
struct str cp_path_name(const char *path);

/* Returns dir + "/" + name, or dir if name is empty. The caller frees it. Returns NULL if memory runs out. */
char *cp_path_join(const char *dir, struct str name);
