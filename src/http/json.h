/* SPDX-License-Identifier: Apache-2.0 */
/* http/json: strict reading of JSON bodies, with errors that name the field, and compact ASCII writing.
 *
 * A thin layer over jansson: bounded depth and number of values, duplicate keys refused, no NUL in strings. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

static inline void json_cleanup(json_t **j)
{
	json_decref(*j);
}
#define autojson __attribute__((cleanup(json_cleanup)))

/* Parses an object, or -EINVAL with a message for the client ("request body is not valid JSON: ...", "request body
 * must be an object"). An empty body gives an empty object if allow_empty. */
int json_read_object(struct str body, bool allow_empty, json_t **ret, struct err *e);

/* Checks whether parsing text would take too many resources: "is nested too deeply", "has too many values"; NULL:
 * no. */
const char *json_too_much(struct str text);

/* Fields of an object. Absent or null: *ret is unchanged and 0 is returned (need_: -EINVAL). Wrong type or range:
 * -EINVAL, "field 'timeout' must be an integer from 0 to 86400". Strings are borrowed from the object. */
/* -EINVAL: a field is not in the list, which ends with NULL; the message names it. */
int json_only(const json_t *o, const char *const *names, struct err *e);

int json_get_str(const json_t *o, const char *field, const char **ret, struct err *e);
int json_need_str(const json_t *o, const char *field, const char **ret, struct err *e);
int json_get_bool(const json_t *o, const char *field, bool *ret, struct err *e);
/* Accepts "12" and 12.0 too, as protobuf JSON does. */
int json_get_int(const json_t *o, const char *field, int64_t min, int64_t max, int64_t *ret, struct err *e);
int json_get_obj(const json_t *o, const char *field, json_t **ret, struct err *e);
int json_get_arr(const json_t *o, const char *field, json_t **ret, struct err *e);
/* Checks that every value of object o is a string. */
int json_check_str_map(const json_t *o, const char *field, struct err *e);

void json_put(struct buf *out, const json_t *j); /* compact, ASCII-escaped */

int base64_decode(struct str in, struct buf *out); /* standard alphabet, padding optional; -EINVAL */
void base64_encode(struct buf *out, struct str in, bool pad);
