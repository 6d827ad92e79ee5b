/* SPDX-License-Identifier: Apache-2.0 */
/* base/defaults: settings of the server that `atoll doctor` has to know, too. */
#pragma once

#include <stdint.h>

#define DEFAULT_MAX_SANDBOXES 1000
#define DEFAULT_DISK_MB 2048

/* Sizes of the pool for a disk with free_mb left; those that are 0 are chosen. The pool takes disk space away from
 * others, so without a word from the operator it stays modest. */
void default_pool_sizes(uint64_t free_mb, uint64_t *size_mb, uint64_t *max_mb);
