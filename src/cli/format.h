/* SPDX-License-Identifier: Apache-2.0 */
/* cli/format: formats sizes, durations and untrusted text for display. No I/O except reading the clock. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"

#define FORMAT_SIZE 24

/* Parses "90", "90s", "15m", "1h30m" or "2d". The whole string must match; each unit occurs at most once, larger ones
 * first. Returns 0, -EINVAL, or -ERANGE above max_s. */
int duration_parse(struct str s, uint64_t max_s, uint64_t *ret_s);
void duration_format(uint64_t s, char out[FORMAT_SIZE]); /* "42s", "4m10s", "3h5m", "2d4h" */
void size_format(uint64_t bytes, char out[FORMAT_SIZE]); /* "0", "812", "1.5K", "37M", "1.2G" */

/* Returns the seconds from the given time to now, or, with `until`, from now to the given time. Returns 0 if the span
 * would be negative, -1 if the time cannot be parsed. */
int64_t span_s(const char *rfc3339, uint64_t now_ms, bool until);
void span_format(const char *rfc3339, uint64_t now_ms, bool until,
    char out[FORMAT_SIZE]); /* "-" if it cannot be parsed */

/* Returns the current time, or $ATOLL_NOW_MS if it is set (for tests). */
uint64_t now_ms(void);

/* Appends untrusted text for display on a terminal, with control characters replaced by '?'. */
void put_clean(struct buf *out, const char *z);
void print_clean(const char *z);
