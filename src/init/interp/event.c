/* SPDX-License-Identifier: Apache-2.0 */
/* interp_event: the events of an /execute stream. */
#include "init/interp/event.h"

#include <string.h>

#include "base/clock.h"
#include "base/fd.h"
#include "init/text.h"

static const struct {
	const char *mime, *field;
} fields[] = {
	{ "text/plain", "text" },
	{ "text/html", "html" },
	{ "text/markdown", "markdown" },
	{ "image/svg+xml", "svg" },
	{ "image/png", "png" },
	{ "image/jpeg", "jpeg" },
	{ "application/pdf", "pdf" },
	{ "text/latex", "latex" },
	{ "application/json", "json" },
	{ "application/javascript", "javascript" },
	{ "e2b/data", "data" },
	{ "e2b/chart", "chart" },
};

json_t *event_plain(const char *type)
{
	return json_pack("{s:s}", "type", type);
}

json_t *event_count(uint64_t n)
{
	return json_pack("{s:s,s:I}", "type", "number_of_executions", "execution_count", (json_int_t)n);
}

json_t *event_output(const char *type, struct str bytes, uint64_t wall_ms)
{
	char time[CLOCK_RFC3339_SIZE];

	clock_rfc3339(wall_ms, time);
	return json_pack("{s:s,s:o,s:s}", "type", type, "text", text_json(bytes), "timestamp", time);
}

json_t *event_error(const char *name, const char *value, const char *traceback)
{
	return json_pack("{s:s,s:s,s:s,s:s}", "type", "error", "name", name, "value", value, "traceback", traceback);
}

json_t *event_text(struct str bytes)
{
	return json_pack("{s:s,s:b,s:o,s:{}}", "type", "result", "is_main_result", 1, "text", text_json(bytes),
	    "extra");
}

/* The text of a Python string is its repr, with quotes; clients expect it without them. */
static json_t *bare_text(const json_t *value)
{
	const char *z = json_string_value(value);
	size_t n = json_string_length(value);

	if (n >= 2 && z[0] == z[n - 1] && (z[0] == '\'' || z[0] == '"'))
		return json_stringn(z + 1, n - 2);
	return json_incref((json_t *)value);
}

static const char *field_of(const char *mime)
{
	for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
		if (strcmp(fields[i].mime, mime) == 0)
			return fields[i].field;
	}
	return NULL;
}

json_t *event_result(const json_t *bundle, bool is_main)
{
	json_t *ev = json_pack("{s:s,s:b}", "type", "result", "is_main_result", (int)is_main);
	json_t *extra = json_object();
	const char *mime;
	json_t *value;

	json_object_foreach((json_t *)bundle, mime, value)
	{
		const char *field = field_of(mime);

		if (json_is_null(value))
			continue;
		if (!field)
			(void)json_object_set(extra, mime, value);
		else if (strcmp(field, "text") == 0 && json_is_string(value))
			(void)json_object_set_new(ev, field, bare_text(value));
		else
			(void)json_object_set(ev, field, value);
	}
	if (json_object_set_new(ev, "extra", extra) == 0)
		return ev;
	json_decref(ev);
	return NULL;
}

/* Number of bytes at the end that start a character without completing it. */
static size_t unfinished(struct str s)
{
	for (size_t back = 1; back <= 3 && back <= s.n; back++) {
		unsigned char c = (unsigned char)s.p[s.n - back];

		if ((c & 0xc0) == 0x80)
			continue;
		size_t want = c >= 0xf0 && c <= 0xf4 ? 4 : c >= 0xe0 ? 3 : c >= 0xc2 ? 2 : 1;

		return c < 0xf5 && want > back ? back : 0;
	}
	return 0;
}

size_t output_ready(struct str held, bool whole_lines)
{
	const char *nl = whole_lines && held.n ? memrchr(held.p, '\n', held.n) : NULL;

	return nl ? (size_t)(nl - held.p) + 1 : held.n - unfinished(held);
}
