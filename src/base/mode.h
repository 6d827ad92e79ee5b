/* SPDX-License-Identifier: Apache-2.0 */
/* mode: permissions as chmod takes them: "755", "u=rwX,go=rX", "+x", "g=u". */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

/* Computes the new mode from `old` (of a directory, if is_dir). There is no umask: "+w" is "a+w". -EINVAL: not a
 * mode; *ret is not written. */
int mode_change(const char *text, mode_t old, bool is_dir, mode_t *ret);
