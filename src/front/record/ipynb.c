/* SPDX-License-Identifier: Apache-2.0 */
/* front/record/ipynb: converts the events of an execution to outputs of a cell. */
#include "front/record/ipynb.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/fd.h"
#include "http/json.h"
#include "store/notebooks.h"

static const struct {
	const char *field, *mime;
} fields[] = {
	{ "text", "text/plain" },
	{ "html", "text/html" },
	{ "markdown", "text/markdown" },
	{ "svg", "image/svg+xml" },
	{ "png", "image/png" },
	{ "jpeg", "image/jpeg" },
	{ "pdf", "application/pdf" },
	{ "latex", "text/latex" },
	{ "json", "application/json" },
	{ "javascript", "application/javascript" },
	{ "data", "application/vnd.e2b.data+json" },
	{ "chart", "application/vnd.e2b.chart+json" },
};

/* Jupyter's name of a language, and the magic that runs a cell of it in a notebook of another language. Each such
 * cell has its own interpreter. */
static const struct language {
	const char *name, *kernel, *display, *magic;
} languages[] = {
	{ "python", "python3", "Python 3", "%%python" },
	{ "javascript", "javascript", "JavaScript", "%%script node" },
	{ "typescript", "typescript", "TypeScript", "%%script npx tsx" },
	{ "bash", "bash", "Bash", "%%bash" },
	{ "r", "ir", "R", "%%script Rscript -" },
	{ "java", "java", "Java", "%%script jshell -" },
};

static const struct language *language_find(const char *name)
{
	static const char *const short_names[][2] = { { "js", "javascript" }, { "ts", "typescript" },
		{ "py", "python" }, { "sh", "bash" }, { "", "python" } };

	for (size_t i = 0; i < ARRAY_LEN(short_names); i++) {
		if (strcmp(short_names[i][0], name) == 0)
			name = short_names[i][1];
	}
	for (size_t i = 0; i < ARRAY_LEN(languages); i++) {
		if (strcasecmp(languages[i].name, name) == 0)
			return &languages[i];
	}
	return NULL;
}

static const char *name_of(const char *language)
{
	const struct language *l = language_find(language);

	return l ? l->name : language;
}

/* Text from a sandbox may end in the middle of a character. */
static json_t *text_json(struct str s)
{
	json_t *j = json_stringn(s.n ? s.p : "", s.n);

	return j ? j : json_string("(not valid UTF-8)");
}

static void put(struct ipynb *nb, json_t *cell, struct buf *out)
{
	autojson json_t *own = cell;

	buf_z(out, nb->put++ ? ",\n  " : "\n  ");
	if (own)
		json_put(out, own);
	else
		buf_z(out, "{\"cell_type\":\"raw\",\"id\":\"lost\",\"metadata\":{},\"source\":\"\"}");
}

void ipynb_begin(struct ipynb *nb, const char *sandbox, const char *language, bool several, struct buf *out)
{
	const struct language *l = language_find(language);
	const char *name = l ? l->name : language;
	autojson json_t *meta = json_pack("{s:{s:s,s:s,s:s},s:{s:s},s:{s:s}}", "kernelspec", "display_name",
	    l ? l->display : name, "language", name, "name", l ? l->kernel : name, "language_info", "name", name,
	    "atoll", "sandbox", sandbox);

	*nb = (struct ipynb) { .language = language, .several = several };
	buf_z(out, "{\"nbformat\":4,\"nbformat_minor\":5,\"metadata\":");
	if (meta)
		json_put(out, meta);
	else
		buf_z(out, "{}");
	buf_z(out, ",\"cells\":[");
}

/* --- outputs --- */

/* Consecutive chunks of the same stream are joined. */
static void add_stream(json_t *outputs, const char *name, const json_t *text)
{
	json_t *last = json_array_size(outputs) ? json_array_get(outputs, json_array_size(outputs) - 1) : NULL;
	const char *was = json_string_value(json_object_get(last, "name"));

	if (!json_is_string(text))
		return;
	if (!was || strcmp(was, name) != 0) {
		(void)json_array_append_new(outputs,
		    json_pack("{s:s,s:s,s:[O]}", "output_type", "stream", "name", name, "text", text));
		return;
	}
	(void)json_array_append(json_object_get(last, "text"), (json_t *)text);
}

/* The schema of Jupyter requires text or an object here; other values are encoded as JSON. */
static json_t *value_json(const char *mime, const json_t *v)
{
	size_t n = strlen(mime);
	bool is_json = n >= 4 && strcmp(mime + n - 4, "json") == 0;

	if (is_json || json_is_string(v))
		return json_incref((json_t *)v);

	autofree char *text = json_dumps(v, JSON_ENCODE_ANY | JSON_COMPACT);

	return json_string(text ? text : "");
}

static bool mime_is_sound(const char *mime)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
	size_t n = strspn(mime, allowed);

	if (n == 0 || mime[n] != '/' || !mime[n + 1])
		return false;
	for (mime += n + 1; *mime; mime++) {
		if (!strchr(allowed, *mime) && !strchr("-+._", *mime))
			return false;
	}
	return true;
}

static json_t *bundle_json(const json_t *event)
{
	json_t *data = json_object(), *extra = json_object_get(event, "extra"), *v;
	const char *mime;

	for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
		if ((v = json_object_get(event, fields[i].field)) && !json_is_null(v))
			(void)json_object_set_new(data, fields[i].mime, value_json(fields[i].mime, v));
	}
	json_object_foreach(extra, mime, v)
	{
		if (mime_is_sound(mime) && !json_is_null(v))
			(void)json_object_set_new(data, mime, value_json(mime, v));
	}
	return data;
}

static void add_result(json_t *outputs, const json_t *event, json_int_t count)
{
	bool is_main = json_is_true(json_object_get(event, "is_main_result"));
	json_t *o = json_pack("{s:s,s:o,s:{}}", "output_type", is_main ? "execute_result" : "display_data", "data",
	    bundle_json(event), "metadata");

	if (is_main)
		(void)json_object_set_new(o, "execution_count", count ? json_integer(count) : json_null());
	if (o)
		(void)json_array_append_new(outputs, o);
}

static void add_error(json_t *outputs, const json_t *event)
{
	const json_t *name = json_object_get(event, "name"), *value = json_object_get(event, "value"),
		     *trace = json_object_get(event, "traceback");
	struct str rest = { json_string_value(trace), json_string_length(trace) };
	json_t *lines = json_array();

	while (rest.p)
		(void)json_array_append_new(lines, text_json(str_cut(&rest, '\n')));
	(void)json_array_append_new(outputs,
	    json_pack("{s:s,s:s,s:s,s:o}", "output_type", "error", "ename",
		json_is_string(name) ? json_string_value(name) : "Error", "evalue",
		json_is_string(value) ? json_string_value(value) : "", "traceback", lines));
}

static void add_event(json_t *outputs, struct str line, json_int_t *count)
{
	autojson json_t *event = json_loadb(line.p, line.n, JSON_ALLOW_NUL, NULL);
	const char *type = json_string_value(json_object_get(event, "type"));

	if (!type)
		return;
	if (strcmp(type, "number_of_executions") == 0)
		*count = json_integer_value(json_object_get(event, "execution_count"));
	else if (strcmp(type, "stdout") == 0 || strcmp(type, "stderr") == 0)
		add_stream(outputs, type, json_object_get(event, "text"));
	else if (strcmp(type, "result") == 0)
		add_result(outputs, event, *count);
	else if (strcmp(type, "error") == 0)
		add_error(outputs, event);
}

static json_t *outputs_json(const struct cell_row *c, json_int_t *ret_count)
{
	json_t *outputs = json_array();
	struct str rest = c->output;
	autojson json_t *cut = json_string("\n[the rest of the output was not kept]\n");

	*ret_count = 0;
	while (rest.n > 0)
		add_event(outputs, str_cut(&rest, '\n'), ret_count);
	if (c->cut)
		add_stream(outputs, "stderr", cut);
	return outputs;
}

/* --- cells --- */

/* Adds a heading if the context differs from that of the previous cell. */
static void tell_context(struct ipynb *nb, const struct cell_row *c, const char *language, struct buf *out)
{
	char now[sizeof nb->last], text[192];

	(void)snprintf(now, sizeof now, "%.60s %.30s", c->context, *c->context ? "" : language);
	if (!nb->several || strcmp(now, nb->last) == 0)
		return;
	memcpy(nb->last, now, sizeof now);
	if (*c->context)
		(void)snprintf(text, sizeof text, "**%.30s**, context `%.64s`", language, c->context);
	else
		(void)snprintf(text, sizeof text, "**%.30s**, default context", language);
	put(nb,
	    json_pack("{s:s,s:o,s:{},s:s}", "cell_type", "markdown", "id",
		json_sprintf("context-%llu", (unsigned long long)c->n), "metadata", "source", text),
	    out);
}

static json_t *source_json(const struct ipynb *nb, const struct cell_row *c, const char *language)
{
	const struct language *l = language_find(c->language);
	autobuf struct buf b = BUF_INIT(c->code.n + 128);

	if (strcmp(language, name_of(nb->language)) == 0)
		return text_json(c->code);
	if (l)
		buf_fmt(&b, "%s\n", l->magic);
	else
		buf_fmt(&b, "%%%%script %.40s\n", language);
	buf_str(&b, c->code);
	return text_json(buf_view(&b));
}

void ipynb_cell(struct ipynb *nb, const struct cell_row *c, struct buf *out)
{
	const char *language = name_of(c->language);
	char began[CLOCK_RFC3339_SIZE], ended[CLOCK_RFC3339_SIZE];
	json_int_t count;

	tell_context(nb, c, language, out);
	clock_rfc3339(c->began_ms, began);
	clock_rfc3339(c->began_ms + c->ms, ended);

	json_t *outputs = outputs_json(c, &count);
	json_t *meta = json_pack("{s:{s:s,s:s},s:{s:s,s:s,s:s}}", "execution", "iopub.execute_input", began,
	    "shell.execute_reply", ended, "atoll", "language", language, "context", c->context, "outcome", c->outcome);

	put(nb,
	    json_pack("{s:s,s:o,s:o,s:o,s:o,s:o}", "cell_type", "code", "id",
		json_sprintf("cell-%llu", (unsigned long long)c->n), "execution_count",
		count ? json_integer(count) : json_null(), "metadata", meta ? meta : json_object(), "source",
		source_json(nb, c, language), "outputs", outputs),
	    out);
}

void ipynb_end(struct ipynb *nb, uint64_t missed, struct buf *out)
{
	if (missed)
		put(nb,
		    json_pack("{s:s,s:s,s:{},s:o}", "cell_type", "markdown", "id", "missed", "metadata", "source",
			json_sprintf("*%llu more cells were run and not kept: the notebook had become too large.*",
			    (unsigned long long)missed)),
		    out);
	buf_z(out, "\n]}\n");
}
