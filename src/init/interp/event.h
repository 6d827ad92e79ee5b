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

/* a main result that is plain text as it stands */
json_t *event_text(struct str bytes);

/* A bundle of mime type → value becomes the fields that clients know; other types go to "extra". */
json_t *event_result(const json_t *bundle, bool is_main);

/* How much of the held output may go out now: all but an unfinished character at the end; with whole_lines, and if
 * there is a line end at all, up to the last one. */
size_t output_ready(struct str held, bool whole_lines);
