/* SPDX-License-Identifier: Apache-2.0 */
/* mcp/fit: shortens the longest texts step by step until the result fits. */
#include "mcp/fit.h"

#include <stdio.h>
#include <string.h>

#define CAP_FIRST (1024 * 1024)
#define CAP_LAST 256
#define NOTE "(The result was too large and has been truncated. Write long output to a file and read it in parts.)"

static size_t size_of(const json_t *j)
{
	return json_dumpb(j, NULL, 0, JSON_COMPACT | JSON_ENSURE_ASCII);
}

/* A shorter copy; NULL: the string is short enough. */
static json_t *shorter(const json_t *s, size_t cap)
{
	const char *z = json_string_value(s);
	size_t n = json_string_length(s), keep = cap;
	char more[64];

	if (n <= cap + sizeof more)
		return NULL;
	while (keep > 0 && ((unsigned char)z[keep] & 0xc0) == 0x80)
		keep--;
	int k = snprintf(more, sizeof more, " [%zu bytes omitted]", n - keep);
	json_t *head = json_stringn(z, keep), *tail = json_stringn(more, (size_t)k);
	json_t *both = json_sprintf("%s%s", head ? json_string_value(head) : "", tail ? json_string_value(tail) : "");

	json_decref(head);
	json_decref(tail);
	return both;
}

static void fit_cut(json_t *j, size_t cap)
{
	const char *key;
	json_t *v, *less;
	size_t i;
	void *next;

	json_object_foreach_safe(j, next, key, v)
	{
		if (!json_is_string(v))
			fit_cut(v, cap);
		else if ((less = shorter(v, cap)))
			(void)json_object_set_new(j, key, less);
	}
	json_array_foreach(j, i, v)
	{
		if (!json_is_string(v))
			fit_cut(v, cap);
		else if ((less = shorter(v, cap)))
			(void)json_array_set_new(j, i, less);
	}
}

/* Truncated base64 is useless: an image or file is replaced as a whole. */
static void leave_out(json_t *content, size_t cap)
{
	json_t *one;
	size_t i;

	json_array_foreach(content, i, one)
	{
		const json_t *image = json_object_get(one, "data"),
			     *file = json_object_get(json_object_get(one, "resource"), "blob");
		size_t n = json_string_length(image ? image : file);

		if (n > cap)
			(void)json_array_set_new(content, i,
			    json_pack("{s:s,s:o}", "type", "text", "text",
				json_sprintf("[%s of %zu base64 bytes omitted]", image ? "image" : "file", n)));
	}
}

bool mcp_fit(json_t *result, size_t max)
{
	json_t *content = json_object_get(result, "content"), *data = json_object_get(result, "structuredContent");

	if (!content || size_of(result) <= max)
		return false;
	(void)json_array_append_new(content, json_pack("{s:s,s:s}", "type", "text", "text", NOTE));
	if (json_object_get(data, "truncated"))
		(void)json_object_set_new(data, "truncated", json_true());
	for (size_t cap = CAP_FIRST; cap >= CAP_LAST; cap /= 2) {
		leave_out(content, cap);
		fit_cut(content, cap);
		fit_cut(data, cap);
		if (size_of(result) <= max)
			return true;
	}
	(void)json_object_del(result, "structuredContent"); /* the texts are short, but very many */
	(void)json_object_set_new(result, "content",
	    json_pack("[{s:s,s:s}]", "type", "text", "text", "TOO_LARGE: " NOTE));
	(void)json_object_set_new(result, "isError", json_true());
	return true;
}
