/* SPDX-License-Identifier: Apache-2.0 */
/* cli/sandbox/login: a command as a login shell runs it, with the PATH and variables of the sandbox's profile, as the
 * SDKs do it. */
#pragma once

#include <stddef.h>

/* NULL-terminated; the words are borrowed, the array is malloc'ed. NULL when out of memory. */
const char **login_command(const char *const *words, size_t n);
