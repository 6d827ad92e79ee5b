/* SPDX-License-Identifier: Apache-2.0 */
/* cli/sandbox/login: runs a command through a login shell, with the PATH and variables of the sandbox's profile, as
 * the SDKs do. */
#pragma once

#include <stddef.h>

/* Returns a NULL-terminated array, or NULL if memory runs out. The caller frees the array; the words are borrowed. */
const char **login_command(const char *const *words, size_t n);
