/* SPDX-License-Identifier: Apache-2.0 */
/* path: turns a path given by a client into an absolute one. Works on text only, without the file system. */
#pragma once

#include "base/str.h"

/* Empty: workdir if it is set, else home. "~" and "~/x": home. Absolute: unchanged. Relative: below home, cleaned.
 * Returns 0 with *ret (malloc), -EINVAL for "~other", -ENOMEM. */
int path_resolve(const char *path, const char *home, const char *workdir, char **ret);

/* Lexical: removes empty, "." and ".." components and trailing slashes (except of "/"). malloc; NULL: out of
 * memory. */
char *path_clean(const char *path);
char *path_join(const char *dir, const char *rel); /* cleaned */
char *path_dir(const char *path);                  /* cleaned, without its last component */

/* The last component, without trailing slashes; "/" for the root. Borrowed. */
struct str path_base(const char *path);
