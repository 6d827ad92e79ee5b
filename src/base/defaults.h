/* SPDX-License-Identifier: Apache-2.0 */
/* base/defaults: default settings of the server that `atoll doctor` needs, too. */
#pragma once

#include <stdint.h>

#define DEFAULT_MAX_SANDBOXES 1000
#define DEFAULT_DISK_MB 2048

/* Chooses the sizes of the storage file, where they are 0, for a disk with free_mb left. The file takes disk
 * space away from other uses, so the defaults are modest. */
void default_pool_sizes(uint64_t free_mb, uint64_t *size_mb, uint64_t *max_mb);
