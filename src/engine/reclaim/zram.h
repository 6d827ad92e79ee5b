/* SPDX-License-Identifier: Apache-2.0 */
/* zram: the server's own compressed swap device, if it is asked for.
 *
 * Swap belongs to the whole host. The device is found by the label in its swap header, "atoll-INSTANCE", so there is
 * no record of it that could be lost or wrong: the memory of sandboxes that outlive a server stays in it, and the next
 * server finds it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

/* At most this part of its size is taken from the host's memory, however badly its contents compress. */
#define ZRAM_MEMORY_PART 2

/* Makes the device, or finds it. empty: no sandbox lives, so one of another size is replaced. bytes 0: removes what is
 * there, if empty. */
int zram_open(uint32_t instance, uint64_t bytes, bool empty, struct err *e);
int zram_close(uint32_t instance, struct err *e); /* removes it; does nothing if there is none */

#define ZRAM_HEADER 4096
struct zram_header; /* the first page of a swap device, where pages have 4 KiB */
void zram_header_fill(char page[ZRAM_HEADER], const char *label, uint64_t bytes);
bool zram_header_is(const char page[ZRAM_HEADER], const char *label);
