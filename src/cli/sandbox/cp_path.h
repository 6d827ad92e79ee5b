/* SPDX-License-Identifier: Apache-2.0 */
/* cli/sandbox/cp_path: the two ends of a copy, and what the copy is called there. No I/O. */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "base/str.h"

struct cp_path {
	char id[64];      /* of a sandbox; empty: here */
	const char *path; /* into the argument; "." for "ID:" */
	bool is_stream;   /* "-", standard input or output */
	bool wants_dir;   /* it ends with a slash */
};

/* "ID:PATH" is in a sandbox, as with scp: a colon that no slash stands before. "./a:b" is here. */
int cp_path_parse(const char *arg, struct cp_path *ret, struct err *e);

/* The last part of a path; empty for "/", "." and "..", which have no name of their own. */
struct str cp_path_name(const char *path);

/* dir + "/" + name; malloc, NULL: memory. An empty name: dir. */
char *cp_path_join(const char *dir, struct str name);
