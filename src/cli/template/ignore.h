/* SPDX-License-Identifier: Apache-2.0 */
/* cli/template/ignore: the patterns of a .dockerignore. No I/O. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"

struct ignore_rule {
	char *pattern; /* without leading and trailing slashes */
	bool keep;     /* "!": a match is not ignored */
};

struct ignore {
	struct ignore_rule *v;
	size_t n;
};

int ignore_parse(struct str text, struct ignore *ret); /* 0 or -ENOMEM */
void ignore_done(struct ignore *g);

/* path is relative to the context, without a leading slash. The last rule that matches it, or a directory that
 * contains it, decides. */
bool ignore_has(const struct ignore *g, const char *path);

/* '*' and '?' do not match '/', but "**" does; [a-z] and [^a-z] are classes; '\\' escapes any of these. */
bool ignore_match(const char *pattern, struct str path);
