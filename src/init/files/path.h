/* SPDX-License-Identifier: Apache-2.0 */
/* path: the rules that turn what a client names into an absolute path. Pure text, no file system. */
#pragma once

#include "base/str.h"

/* Empty: workdir if it is set, else home. "~" and "~/x": home. Absolute: kept as it is. Relative: below home, cleaned.
 * 0 with *ret (malloc), -EINVAL for "~other", -ENOMEM. */
int path_resolve(const char *path, const char *home, const char *workdir, char **ret);

/* Lexical: no empty, "." or ".." components, no slash at the end (but "/" itself). malloc, NULL: out of memory. */
char *path_clean(const char *path);
char *path_join(const char *dir, const char *rel); /* cleaned */
char *path_dir(const char *path);                  /* cleaned, without its last component */

/* The last component, without slashes at the end; "/" for the root. Borrowed. */
struct str path_base(const char *path);
