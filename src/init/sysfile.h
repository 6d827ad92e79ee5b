/* SPDX-License-Identifier: Apache-2.0 */
/* sysfile: reads small system files (/etc/passwd, /etc/atoll/env) that the sandbox may have changed. */
#pragma once

#include <stddef.h>

/* Reads a whole regular file of at most max bytes and appends a NUL (malloc). NULL: missing, too large, not
 * regular. */
char *sysfile_read(const char *path, size_t max, size_t *ret_n);
