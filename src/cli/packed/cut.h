/* SPDX-License-Identifier: Apache-2.0 */
/* cli/packed/cut: cuts a stream into blocks at places that its content determines, so that two streams with a common
 * part have common blocks, wherever it stands. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define CUT_MIN (256u << 10)

/* Returns the length of the first block of n bytes: all of them if no cut is found. At the end of a stream, or with
 * PACKED_BLOCK_MAX bytes, that is the block. */
size_t cut_find(const uint8_t *p, size_t n);
