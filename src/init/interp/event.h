/* SPDX-License-Identifier: Apache-2.0 */
/* interp_event: the events of an /execute stream: one JSON object per line, ASCII only. Pure. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

/* All return a new object, NULL when out of memory. */
json_t *event_plain(const char *type); /* "keepalive", "end_of_execution" */
json_t *event_count(uint64_t n);
json_t *event_output(const char *type, struct str bytes, uint64_t wall_ms); /* "stdout", "stderr" */
json_t *event_error(const char *name, const char *value, const char *traceback);

/* A main result with plain text, taken verbatim. */
json_t *event_text(struct str bytes);

/* Converts a bundle of mime type → value into the fields that clients know; other types go to "extra". */
json_t *event_result(const json_t *bundle, bool is_main);

/* How much of the buffered output may be sent now: all except an incomplete character at the end. With
 * whole_lines, only up to the last newline, if there is one. */
size_t output_ready(struct str held, bool whole_lines);
