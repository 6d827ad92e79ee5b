/* SPDX-License-Identifier: Apache-2.0 */
/* mcp/schema: walks schema and value together. */
#include "mcp/schema.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"

#define EXACT_MAX 9007199254740992.0 /* largest n such that all integers up to n are exact doubles */
#define PATH_SIZE 160                /* of an argument's path: "files[2].path" */

static int schema_check_value(const json_t *schema, const json_t *v, const char *path, struct err *e);

static bool type_fits(const char *type, const json_t *v)
{
	if (strcmp(type, "string") == 0)
		return json_is_string(v);
	if (strcmp(type, "integer") == 0) /* 30000.0 counts: some clients write all numbers so */
		return json_is_integer(v) ||
		    (json_is_real(v) && json_real_value(v) >= -EXACT_MAX && json_real_value(v) <= EXACT_MAX &&
			(double)(int64_t)json_real_value(v) == json_real_value(v));
	if (strcmp(type, "number") == 0)
		return json_is_number(v);
	if (strcmp(type, "boolean") == 0)
		return json_is_boolean(v);
	if (strcmp(type, "array") == 0)
		return json_is_array(v);
	return strcmp(type, "object") == 0 && json_is_object(v);
}

static const char *article(const char *type)
{
	return strchr("aeio", type[0]) ? "an" : "a";
}

static int check_type(const json_t *schema, const json_t *v, const char *path, struct err *e)
{
	const json_t *type = json_object_get(schema, "type");
	const char *one = json_string_value(type), *first = json_string_value(json_array_get(type, 0));
	const char *second = json_string_value(json_array_get(type, 1));

	if (one && !type_fits(one, v))
		return err_set(e, EINVAL, "argument '%s' must be %s %s", path, article(one), one);
	if (first && second && !type_fits(first, v) && !type_fits(second, v))
		return err_set(e, EINVAL, "argument '%s' must be %s %s or %s %s", path, article(first), first,
		    article(second), second);
	return 0;
}

static int check_enum(const json_t *schema, const json_t *v, const char *path, struct err *e)
{
	const json_t *all = json_object_get(schema, "enum");
	autobuf struct buf names = BUF_INIT(160);
	size_t i;
	json_t *one;

	if (!all)
		return 0;
	json_array_foreach((json_t *)all, i, one)
	{
		if (json_equal(one, v))
			return 0;
		buf_fmt(&names, "%s%s", i ? ", " : "", json_string_value(one));
	}
	const char *text = buf_cstr(&names);

	return err_set(e, EINVAL, "argument '%s' must be one of: %s", path, text ? text : "the values in its schema");
}

static int check_range(const json_t *schema, const json_t *v, const char *path, struct err *e)
{
	const json_t *min = json_object_get(schema, "minimum"), *max = json_object_get(schema, "maximum");
	const json_t *min_n = json_object_get(schema, json_is_array(v) ? "minItems" : "minLength");
	const json_t *max_n = json_object_get(schema, json_is_array(v) ? "maxItems" : "maxLength");
	size_t n = json_is_array(v) ? json_array_size(v) : json_string_length(v);

	if (json_is_number(v) &&
	    ((min && json_number_value(v) < json_number_value(min)) ||
		(max && json_number_value(v) > json_number_value(max))))
		return min && max ? err_set(e, EINVAL, "argument '%s' must be from %.15g to %.15g", path,
					json_number_value(min), json_number_value(max))
				  : err_set(e, EINVAL, "argument '%s' must be %s %.15g", path,
					min ? "at least" : "at most", json_number_value(min ? min : max));
	if (!json_is_array(v) && !json_is_string(v))
		return 0;
	if (json_is_string(v) && memchr(json_string_value(v), '\0', n))
		return err_set(e, EINVAL, "argument '%s' must not contain a NUL character", path);
	const char *unit = json_is_array(v) ? "items" : "bytes";

	if (min_n && n < (size_t)json_integer_value(min_n))
		return n == 0 ? err_set(e, EINVAL, "argument '%s' must not be empty", path)
			      : err_set(e, EINVAL, "argument '%s' must have at least %lld %s", path,
				    (long long)json_integer_value(min_n), unit);
	if (max_n && n > (size_t)json_integer_value(max_n))
		return err_set(e, EINVAL, "argument '%s' is too long: at most %lld %s", path,
		    (long long)json_integer_value(max_n), unit);
	return 0;
}

static int check_member(const json_t *schema, const char *name, const json_t *v, const char *path, struct err *e)
{
	const json_t *known = json_object_get(json_object_get(schema, "properties"), name);
	const json_t *more = json_object_get(schema, "additionalProperties");
	char sub[PATH_SIZE];

	(void)snprintf(sub, sizeof sub, "%s%s%.64s", path, *path ? "." : "", name);
	if (known)
		return schema_check_value(known, v, sub, e);
	if (json_is_false(more))
		return err_set(e, EINVAL, "argument '%s' is unknown", sub);
	return json_is_object(more) ? schema_check_value(more, v, sub, e) : 0;
}

static int check_object(const json_t *schema, const json_t *v, const char *path, struct err *e)
{
	const json_t *required = json_object_get(schema, "required");
	json_t *one;
	const char *name;
	size_t i;

	json_array_foreach((json_t *)required, i, one)
	{
		if (!json_object_get(v, json_string_value(one)))
			return err_set(e, EINVAL, "argument '%s%s%s' is missing", path, *path ? "." : "",
			    json_string_value(one));
	}
	json_object_foreach((json_t *)v, name, one)
	{
		if (check_member(schema, name, one, path, e) < 0)
			return -e->no;
	}
	return 0;
}

static int schema_check_value(const json_t *schema, const json_t *v, const char *path, struct err *e)
{
	const json_t *items = json_object_get(schema, "items");
	json_t *one;
	size_t i;

	if (check_type(schema, v, path, e) < 0 || check_enum(schema, v, path, e) < 0 ||
	    check_range(schema, v, path, e) < 0)
		return -e->no;
	if (json_is_object(v))
		return check_object(schema, v, path, e);
	if (!json_is_array(v) || !items)
		return 0;
	json_array_foreach((json_t *)v, i, one)
	{
		char sub[PATH_SIZE];

		(void)snprintf(sub, sizeof sub, "%s[%zu]", path, i);
		if (schema_check_value(items, one, sub, e) < 0)
			return -e->no;
	}
	return 0;
}

int schema_check(const json_t *schema, const json_t *value, struct err *e)
{
	return schema_check_value(schema, value, "", e);
}
