/* SPDX-License-Identifier: Apache-2.0 */
/* cli/template/ignore: the patterns of a .dockerignore. No I/O. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"

struct ignore_rule {
	char *pattern; /* without slashes at its ends */
	bool keep;     /* "!": what it matches is not ignored */
};

struct ignore {
	struct ignore_rule *v;
	size_t n;
};

int ignore_parse(struct str text, struct ignore *ret); /* -ENOMEM */
void ignore_done(struct ignore *g);

/* path: below the context, without a slash at its start. The last rule that matches it, or a directory it is in,
 * counts. */
bool ignore_has(const struct ignore *g, const char *path);

/* '*' and '?' do not match '/', "**" does; [a-z], [^a-z], '\\' before any of them. */
bool ignore_match(const char *pattern, struct str path);
