/* SPDX-License-Identifier: Apache-2.0 */
/* sysfile: small files of the sandbox (/etc/passwd, /etc/atoll/env) that the sandbox may have changed. */
#pragma once

#include <stddef.h>

/* A regular file of at most max bytes, whole, with a NUL behind it (malloc). NULL: missing, too large, not regular. */
char *sysfile_read(const char *path, size_t max, size_t *ret_n);
