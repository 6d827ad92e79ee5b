/* SPDX-License-Identifier: Apache-2.0 */
/* build: what kind of build this is. */
#pragma once

#include <stdbool.h>

/* Sanitizers look into /proc, start threads, trace their own process and write reports: such builds, which are for
 * tests only, do without filters of system calls. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
static const bool build_is_sanitized = true;
#else
static const bool build_is_sanitized = false;
#endif
