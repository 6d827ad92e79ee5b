/* SPDX-License-Identifier: Apache-2.0 */
/* clock: the current time. Deadlines use the monotonic clock, records the wall clock. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

uint64_t clock_mono_ms(void);
uint64_t clock_mono_us(void);
uint64_t clock_cpu_us(void);  /* CPU time of this thread */
uint64_t clock_wall_ms(void); /* since 1970, UTC */

#define CLOCK_RFC3339_SIZE 32

/* "2026-01-02T03:04:05.678Z" */
void clock_rfc3339(uint64_t wall_ms, char out[CLOCK_RFC3339_SIZE]);

/* Accepts RFC 3339 with or without a fraction, 'Z' or an offset. 0 or -EINVAL. */
int clock_parse_rfc3339(struct str s, uint64_t *ret_wall_us);
