/* SPDX-License-Identifier: Apache-2.0 */
/* client/execution: collects the results of running code from the lines of its stream. */
#include "client/execution.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "client/client.h"
#include "http/json.h"

#define LINE_MAX_BYTES (64u * 1024 * 1024) /* a picture is one line */

struct result {
	struct atoll_result pub; /* must be first: the public pointer is converted to this */
	json_t *from;            /* owns values that are strings */
	json_t *texts;           /* owns the other values, as text */
	struct atoll_pair *extra;
};

#define CUT "\n[the output is too long and was truncated here]\n"
/* Added to the size of each piece, because many small pieces take more memory than their text. */
#define PIECE_COST 32

struct output {
	bool cut;
	struct buf text;
	struct buf ends; /* end offset of each piece in text, as size_t */
};

struct execution {
	struct atoll_execution pub;
	struct atoll_code_events on;
	bool ended, stopped;
	struct buf line;              /* an incomplete line */
	size_t kept, max, stream_max; /* stream_max 0: same as max */
	struct output out, err;
	struct result **results;
	size_t n_results, cap, n_seen;
	json_t *error;
	struct atoll_code_error public_error;
};

struct execution *execution_new(const struct atoll_code_events *on, size_t max)
{
	struct execution *x = calloc(1, sizeof(*x));

	if (!x)
		return NULL;
	if (on)
		x->on = *on;
	x->max = max;
	x->line = BUF_INIT(LINE_MAX_BYTES);
	x->out = x->err = (struct output) { .text = BUF_INIT(max + 1), .ends = BUF_INIT(sizeof(size_t) * (max + 1)) };
	return x;
}

void execution_limit(struct execution *x, size_t stream_max)
{
	x->stream_max = stream_max;
}

static void result_free(struct result *r)
{
	if (!r)
		return;
	json_decref(r->from);
	json_decref(r->texts);
	free(r->extra);
	free(r);
}

void execution_free(struct execution *x)
{
	if (!x)
		return;
	for (size_t i = 0; i < x->n_results; i++)
		result_free(x->results[i]);
	free(x->results);
	json_decref(x->error);
	buf_done(&x->line);
	buf_done(&x->out.text);
	buf_done(&x->out.ends);
	buf_done(&x->err.text);
	buf_done(&x->err.ends);
	free(x);
}

/* --- results --- */

/* Returns a string unchanged, another value as JSON. */
static const char *as_text(struct result *r, const json_t *v)
{
	if (!v || json_is_null(v))
		return NULL;
	if (json_is_string(v))
		return json_string_value(v);
	autofree char *text = json_dumps(v, JSON_COMPACT | JSON_ENCODE_ANY);
	json_t *kept = text ? json_string(text) : NULL;

	return json_array_append_new(r->texts, kept) < 0 ? NULL : json_string_value(kept);
}

/* Returns JSON for any value: a string keeps its quotes. */
static const char *as_json(struct result *r, const json_t *v)
{
	if (!json_is_string(v))
		return as_text(r, v);
	autofree char *text = json_dumps(v, JSON_COMPACT | JSON_ENCODE_ANY);
	json_t *kept = text ? json_string(text) : NULL;

	return json_array_append_new(r->texts, kept) < 0 ? NULL : json_string_value(kept);
}

static int put_extra(struct result *r, json_t *extra)
{
	const char *name;
	json_t *v;

	r->extra = calloc(json_object_size(extra) + 1, sizeof(*r->extra));
	if (!r->extra)
		return -ENOMEM;
	json_object_foreach(extra, name, v)
	{
		const char *text = as_text(r, v);

		if (text)
			r->extra[r->pub.n_extra++] = (struct atoll_pair) { name, text };
	}
	r->pub.extra = r->extra;
	return 0;
}

static struct result *result_new(json_t *o)
{
	struct result *r = calloc(1, sizeof(*r));

	if (!r || !(r->texts = json_array())) {
		free(r);
		return NULL;
	}
	r->from = json_incref(o);
	r->pub = (struct atoll_result) {
		.is_main = json_is_true(json_object_get(o, "is_main_result")),
		.text = as_text(r, json_object_get(o, "text")),
		.html = as_text(r, json_object_get(o, "html")),
		.markdown = as_text(r, json_object_get(o, "markdown")),
		.svg = as_text(r, json_object_get(o, "svg")),
		.latex = as_text(r, json_object_get(o, "latex")),
		.javascript = as_text(r, json_object_get(o, "javascript")),
		.png = as_text(r, json_object_get(o, "png")),
		.jpeg = as_text(r, json_object_get(o, "jpeg")),
		.pdf = as_text(r, json_object_get(o, "pdf")),
		.json = as_json(r, json_object_get(o, "json")),
		.data = as_json(r, json_object_get(o, "data")),
		.chart = as_json(r, json_object_get(o, "chart")),
	};
	if (put_extra(r, json_object_get(o, "extra")) < 0) {
		result_free(r);
		return NULL;
	}
	return r;
}

static int keep_result(struct execution *x, struct result *r, size_t n_line)
{
	if (x->max == 0) {
		result_free(r);
		return 0;
	}
	if (x->n_results == x->cap) {
		size_t cap = x->cap ? 2 * x->cap : 4;
		struct result **more = reallocarray(x->results, cap, sizeof(*more));

		if (!more) {
			result_free(r);
			return -ENOMEM;
		}
		x->results = more;
		x->cap = cap;
	}
	x->results[x->n_results++] = r;
	x->kept += n_line;
	return x->kept > x->max ? -EFBIG : 0;
}

static int on_result(struct execution *x, json_t *o, size_t n_line)
{
	struct result *r = result_new(o);

	if (!r)
		return -ENOMEM;
	x->stopped = x->on.on_result && x->on.on_result(x->on.user, &r->pub) != 0;
	x->n_seen++;
	int rc = keep_result(x, r, n_line);

	return x->stopped ? -ECANCELED : rc;
}

/* --- other lines --- */

/* Returns how many bytes of a piece are kept, in whole characters. */
static size_t stream_room(const struct execution *x, const struct output *to, const char *p, size_t n)
{
	size_t used = to->text.n + to->ends.n / sizeof(size_t) * PIECE_COST;
	size_t room = used < x->stream_max ? x->stream_max - used : 0;

	if (x->stream_max == 0 || n <= room)
		return n;
	while (room > 0 && ((unsigned char)p[room] & 0xc0) == 0x80)
		room--;
	return room;
}

static int put_output(struct execution *x, struct output *to, const char *p, size_t n)
{
	x->kept += n;
	if (x->kept > x->max)
		return -EFBIG;
	buf_put(&to->text, p, n);
	buf_put(&to->ends, &to->text.n, sizeof(to->text.n));
	return to->text.bad || to->ends.bad ? -ENOMEM : 0;
}

static int on_output(struct execution *x, const json_t *o, struct output *to, int (*call)(void *, const char *, size_t))
{
	const json_t *text = json_object_get(o, "text");

	if (!json_is_string(text))
		return -EPROTO;
	const char *p = json_string_value(text);
	size_t n = json_string_length(text);

	if (call && call(x->on.user, p, n) != 0) {
		x->stopped = true;
		return -ECANCELED;
	}
	if (x->max == 0 || to->cut)
		return 0;
	size_t room = stream_room(x, to, p, n);
	int rc = put_output(x, to, p, room);

	to->cut = room < n;
	return rc == 0 && to->cut ? put_output(x, to, CUT, sizeof(CUT) - 1) : rc;
}

static int on_error(struct execution *x, json_t *o)
{
	json_decref(x->error);
	x->error = json_incref(o);
	x->public_error = (struct atoll_code_error) { json_text(o, "name"), json_text(o, "value"),
		json_text(o, "traceback") };
	x->stopped = x->on.on_error && x->on.on_error(x->on.user, &x->public_error) != 0;
	return x->stopped ? -ECANCELED : 0;
}

static int on_line(struct execution *x, struct str line)
{
	autojson json_t *o = NULL;

	if (line.n == 0)
		return 0;
	o = json_loadb(line.p, line.n, JSON_ALLOW_NUL, NULL);
	const char *type = json_text_or_null(o, "type");

	if (!type)
		return -EPROTO;
	if (strcmp(type, "stdout") == 0)
		return on_output(x, o, &x->out, x->on.on_stdout);
	if (strcmp(type, "stderr") == 0)
		return on_output(x, o, &x->err, x->on.on_stderr);
	if (strcmp(type, "result") == 0)
		return on_result(x, o, line.n);
	if (strcmp(type, "error") == 0)
		return on_error(x, o);
	if (strcmp(type, "number_of_executions") == 0)
		x->pub.count = json_number(o, "execution_count", 0);
	else if (strcmp(type, "end_of_execution") == 0)
		x->ended = true;
	return 0; /* keepalive, or unknown to this version */
}

int execution_feed(struct execution *x, const void *p, size_t n)
{
	const char *from = p;
	int rc = 0;

	while (rc == 0 && n > 0) {
		const char *end = memchr(from, '\n', n);
		size_t part = end ? (size_t)(end - from) : n;

		/* Most lines arrive complete and are parsed in place. */
		if (end && x->line.n == 0) {
			rc = on_line(x, (struct str) { from, part });
		} else {
			buf_put(&x->line, from, part);
			rc = x->line.bad ? -EFBIG : 0;
			if (rc == 0 && end) {
				rc = on_line(x, buf_view(&x->line));
				buf_clear(&x->line);
			}
		}
		part += end != NULL;
		from += part;
		n -= part;
	}
	return rc;
}

bool execution_ended(const struct execution *x)
{
	return x->ended;
}

size_t execution_results(const struct execution *x)
{
	return x->n_seen;
}

static const char *main_text(const struct execution *x)
{
	for (size_t i = 0; i < x->n_results; i++) {
		if (x->results[i]->pub.is_main)
			return x->results[i]->pub.text;
	}
	return NULL;
}

struct atoll_execution *execution_public(struct execution *x)
{
	x->pub.results = (const struct atoll_result *const *)x->results;
	x->pub.n_results = x->n_results;
	x->pub.text = main_text(x);
	x->pub.n_out = x->out.text.n;
	x->pub.n_err = x->err.text.n;
	x->pub.out = buf_cstr(&x->out.text);
	x->pub.err = buf_cstr(&x->err.text);
	x->pub.error = x->error ? &x->public_error : NULL;
	buf_done(&x->line);
	return x->pub.out && x->pub.err ? &x->pub : NULL;
}

void atoll_execution_free(struct atoll_execution *pub)
{
	execution_free((struct execution *)pub);
}

/* --- JSON output --- */

static json_t *pieces(const struct output *o)
{
	json_t *all = json_array();
	size_t begin = 0, end;

	for (size_t i = 0; i < o->ends.n; i += sizeof(end), begin = end) {
		memcpy(&end, o->ends.p + i, sizeof(end));
		(void)json_array_append_new(all, json_stringn(o->text.p + begin, end - begin));
	}
	return all;
}

static json_t *result_json(const struct result *r)
{
	json_t *o = json_copy(r->from);

	(void)json_object_del(o, "type");
	return o;
}

char *atoll_execution_json(const struct atoll_execution *pub)
{
	const struct execution *x = (const struct execution *)pub;

	if (!pub)
		return NULL;
	autojson json_t *results = json_array();
	for (size_t i = 0; i < x->n_results; i++)
		(void)json_array_append_new(results, result_json(x->results[i]));
	json_t *error = x->error ? json_pack("{s:s,s:s,s:s}", "name", x->public_error.name, "value",
				       x->public_error.value, "traceback", x->public_error.traceback)
				 : json_null();
	autojson json_t *all = json_pack("{s:O,s:{s:o,s:o},s:o}", "results", results, "logs", "stdout", pieces(&x->out),
	    "stderr", pieces(&x->err), "error", error);

	if (!all)
		return NULL;
	if (x->pub.count > 0)
		(void)json_object_set_new(all, "execution_count", json_integer(x->pub.count));
	return json_dumps(all, JSON_COMPACT);
}
