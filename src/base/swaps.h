/* SPDX-License-Identifier: Apache-2.0 */
/* swaps: the host's swap, from the text of /proc/swaps. */
#pragma once

#include <stdint.h>

enum swaps_kind {
	SWAPS_NONE,
	SWAPS_MEMORY, /* all of it is compressed memory (zram) */
	SWAPS_DISK,   /* some of it is on a disk: memory that is swapped may be read there later */
};

/* Sums sizes and use of all devices, in bytes. */
enum swaps_kind swaps_read(const char *text, uint64_t *ret_bytes, uint64_t *ret_free);
enum swaps_kind swaps_now(uint64_t *ret_bytes, uint64_t *ret_free); /* of /proc/swaps */
