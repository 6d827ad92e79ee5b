/* SPDX-License-Identifier: Apache-2.0 */
/* build: properties of this build. */
#pragma once

#include <stdbool.h>

/* Sanitizers read /proc, start threads, trace their own process and write reports. Such builds are for tests
 * only and run without system call filters. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
static const bool build_is_sanitized = true;
#else
static const bool build_is_sanitized = false;
#endif
