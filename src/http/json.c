/* SPDX-License-Identifier: Apache-2.0 */
/* http/json: strict parsing with errors that name the field, compact output. */
#include "http/json.h"

#include <inttypes.h>

#define JSON_DEPTH_MAX 64
#define JSON_VALUES_MAX 200000 /* arrays and objects, and their members */

/* jansson recurses once per level and allows 2048 levels; no message of ours is nearly as deep. An empty object
 * takes a hundred times the memory of its text. */
const char *json_too_much(struct str s)
{
	size_t depth = 0, values = 0;
	bool in_string = false;

	for (size_t i = 0; i < s.n; i++) {
		char c = s.p[i];

		if (in_string) {
			if (c == '\\')
				i++;
			else if (c == '"')
				in_string = false;
		} else if (c == '"') {
			in_string = true;
		} else if (c == '{' || c == '[' || c == ',') {
			if (++values > JSON_VALUES_MAX)
				return "has too many values";
			if (c != ',' && ++depth > JSON_DEPTH_MAX)
				return "is nested too deeply";
		} else if ((c == '}' || c == ']') && depth) {
			depth--;
		}
	}
	return NULL;
}

int json_read_object(struct str body, bool allow_empty, json_t **ret, struct err *e)
{
	json_error_t je;
	const char *why;

	if (allow_empty && body.n == 0) {
		json_t *empty = json_object();

		if (!empty)
			return err_set(e, ENOMEM, "read the request body");
		*ret = empty;
		return 0;
	}
	why = json_too_much(body);
	if (why)
		return err_set(e, EINVAL, "request body %s", why);
	json_t *j = json_loadb(body.p ? body.p : "", body.n, JSON_REJECT_DUPLICATES, &je);
	if (!j)
		return json_error_code(&je) == json_error_null_character
		    ? err_set(e, EINVAL, "request body has a NUL character (\\u0000) in a text, which cannot be taken")
		    : err_set(e, EINVAL, "request body is not valid JSON: %s", je.text);
	if (!json_is_object(j)) {
		json_decref(j);
		return err_set(e, EINVAL, "request body must be an object");
	}
	*ret = j;
	return 0;
}

/* The field, or NULL when it is absent or null. */
static json_t *field_get(const json_t *o, const char *field)
{
	json_t *v = json_object_get(o, field);

	return v && !json_is_null(v) ? v : NULL;
}

int json_only(const json_t *o, const char *const *names, struct err *e)
{
	const char *name;
	json_t *v;

	json_object_foreach((json_t *)o, name, v)
	{
		size_t i = 0;

		while (names[i] && strcmp(names[i], name) != 0)
			i++;
		if (!names[i])
			return err_set(e, EINVAL, "field '%.60s' is not known", name);
	}
	return 0;
}

int json_get_str(const json_t *o, const char *field, const char **ret, struct err *e)
{
	const json_t *v = field_get(o, field);

	if (!v)
		return 0;
	if (!json_is_string(v))
		return err_set(e, EINVAL, "field '%s' must be a string", field);
	*ret = json_string_value(v);
	return 0;
}

int json_need_str(const json_t *o, const char *field, const char **ret, struct err *e)
{
	if (!field_get(o, field))
		return err_set(e, EINVAL, "field '%s' is missing", field);
	return json_get_str(o, field, ret, e);
}

int json_get_bool(const json_t *o, const char *field, bool *ret, struct err *e)
{
	const json_t *v = field_get(o, field);

	if (!v)
		return 0;
	if (!json_is_boolean(v))
		return err_set(e, EINVAL, "field '%s' must be true or false", field);
	*ret = json_is_true(v);
	return 0;
}

/* An integer in any of the spellings that protobuf JSON allows: 12, "12", 12.0. */
static bool as_int(const json_t *v, int64_t min, int64_t max, int64_t *ret)
{
	if (json_is_string(v))
		return str_to_i64((struct str) { json_string_value(v), json_string_length(v) }, min, max, ret) == 0;
	if (json_is_real(v)) {
		double d = json_real_value(v);

		if (!(d >= -9007199254740992.0 && d <= 9007199254740992.0) || (double)(int64_t)d != d)
			return false;
		*ret = (int64_t)d;
	} else if (json_is_integer(v)) {
		*ret = json_integer_value(v);
	} else {
		return false;
	}
	return *ret >= min && *ret <= max;
}

int json_get_int(const json_t *o, const char *field, int64_t min, int64_t max, int64_t *ret, struct err *e)
{
	const json_t *v = field_get(o, field);
	int64_t i;

	if (!v)
		return 0;
	if (!as_int(v, min, max, &i))
		return err_set(e, EINVAL, "field '%s' must be an integer from %" PRId64 " to %" PRId64, field, min,
		    max);
	*ret = i;
	return 0;
}

int json_get_obj(const json_t *o, const char *field, json_t **ret, struct err *e)
{
	json_t *v = field_get(o, field);

	if (!v)
		return 0;
	if (!json_is_object(v))
		return err_set(e, EINVAL, "field '%s' must be an object", field);
	*ret = v;
	return 0;
}

int json_get_arr(const json_t *o, const char *field, json_t **ret, struct err *e)
{
	json_t *v = field_get(o, field);

	if (!v)
		return 0;
	if (!json_is_array(v))
		return err_set(e, EINVAL, "field '%s' must be an array", field);
	*ret = v;
	return 0;
}

int json_check_str_map(const json_t *o, const char *field, struct err *e)
{
	const char *key;
	json_t *v;

	json_object_foreach((json_t *)o, key, v) if (!json_is_string(v)) return err_set(e, EINVAL,
	    "field '%s.%s' must be a string", field, key);
	return 0;
}

static int put_piece(const char *p, size_t n, void *out)
{
	buf_put(out, p, n);
	return 0;
}

void json_put(struct buf *out, const json_t *j)
{
	if (json_dump_callback(j, put_piece, out, JSON_COMPACT | JSON_ENSURE_ASCII | JSON_ENCODE_ANY) < 0)
		out->bad = true;
}
