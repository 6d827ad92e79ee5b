/* SPDX-License-Identifier: Apache-2.0 */
/* cli/format: sizes, durations and foreign text for people. No I/O but the clock. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"

#define FORMAT_SIZE 24

/* "90", "90s", "15m", "1h30m", "2d": the whole string, units at most once and from large to small. 0, -EINVAL, or
 * -ERANGE above max_s. */
int duration_parse(struct str s, uint64_t max_s, uint64_t *ret_s);
void duration_format(uint64_t s, char out[FORMAT_SIZE]); /* "42s", "4m10s", "3h5m", "2d4h" */
void size_format(uint64_t bytes, char out[FORMAT_SIZE]); /* "0", "812", "1.5K", "37M", "1.2G" */

/* Seconds from then to now, or with `until` from now to then; 0 if that is not yet, -1 if the time cannot be read. */
int64_t span_s(const char *rfc3339, uint64_t now_ms, bool until);
void span_format(const char *rfc3339, uint64_t now_ms, bool until,
    char out[FORMAT_SIZE]); /* "-" if it cannot be read */

/* What time it is; $ATOLL_NOW_MS if that is set, for tests. */
uint64_t now_ms(void);

/* Text of users or of a sandbox on a terminal: control characters become '?'. */
void put_clean(struct buf *out, const char *z);
void print_clean(const char *z);
