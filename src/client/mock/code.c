/* SPDX-License-Identifier: Apache-2.0 */
/* client/mock/code: contexts of a mock sandbox, and the streams of code that runs in them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/fd.h"
#include "client/mock/state.h"
#include "http/json.h"

static json_t *public_context(const json_t *ctx)
{
	return json_pack("{s:O,s:O,s:O}", "id", json_object_get(ctx, "id"), "language",
	    json_object_get(ctx, "language"), "cwd", json_object_get(ctx, "cwd"));
}

static json_t *find(const struct mock_sandbox *sb, const char *id, size_t *ret_i)
{
	for (size_t i = 0; i < json_array_size(sb->contexts); i++) {
		json_t *ctx = json_array_get(sb->contexts, i);

		if (strcmp(json_string_value(json_object_get(ctx, "id")), id) == 0) {
			*ret_i = i;
			return ctx;
		}
	}
	return NULL;
}

static void not_found(struct mock_call *c, const char *id)
{
	c->status = 404;
	c->type = "text/plain";
	buf_fmt(&c->answer, "Context %s not found", id);
}

/* --- running --- */

struct stream {
	struct mock_call *c;
	struct mock_sandbox *sb;
	bool left;
};

static void emit(void *user, json_t *line)
{
	struct stream *s = user;
	autobuf struct buf text = BUF_INIT(16u * 1024 * 1024);

	json_put(&text, line);
	json_decref(line);
	buf_ch(&text, '\n');
	mock_stream_send(s->c, text.p, text.n);
}

static bool nap(void *user, double seconds)
{
	struct stream *s = user;
	uint64_t until = clock_mono_ms() + (uint64_t)(seconds * 1000);

	while (clock_mono_ms() < until && s->sb->running) {
		if (!mock_stream_wait(s->c, until) && clock_mono_ms() < until)
			break;
	}
	s->left = s->c->broken || !s->sb->running || s->c->m->closing;
	return !s->left;
}

static void execute(struct mock_call *c, struct mock_sandbox *sb, json_t *ctx)
{
	const char *code = json_string_value(json_object_get(c->json, "code"));
	json_int_t count = json_integer_value(json_object_get(ctx, "count")) + 1;
	struct stream s = { .c = c, .sb = sb };
	autojson json_t *envs = json_deep_copy(sb->envs);
	autojson json_t *vars = json_incref(json_object_get(ctx, "vars"));

	if (!envs)
		envs = json_object();
	(void)json_object_update(envs, json_object_get(c->json, "env_vars"));
	(void)json_object_set_new(ctx, "count", json_integer(count));
	mock_stream_begin(c, "application/x-ndjson");
	emit(&s, json_pack("{s:s,s:I}", "type", "number_of_executions", "execution_count", count));
	const struct mock_run run = { .vars = vars, .envs = envs, .emit = emit, .sleep = nap, .user = &s };

	if (mock_eval(&run, code ? code : "") == MOCK_LEFT || s.left) {
		c->broken = true;
		return;
	}
	emit(&s, json_pack("{s:s}", "type", "end_of_execution"));
	mock_stream_end(c, NULL, NULL);
}

static void execute_any(struct mock_call *c, struct mock_sandbox *sb)
{
	const char *id = json_string_value(json_object_get(c->json, "context_id")),
		   *language = json_string_value(json_object_get(c->json, "language"));
	size_t i;
	autojson json_t *ctx = json_incref(find(sb, id ? id : "mock-default", &i));

	if (language && strcmp(language, "python") != 0)
		mock_refuse(c, 400, "the mock supports a little Python, but not '%s'", language);
	else if (!ctx)
		not_found(c, id);
	else
		execute(c, sb, ctx);
}

/* --- contexts --- */

static void create(struct mock_call *c, struct mock_sandbox *sb)
{
	const char *language = json_string_value(json_object_get(c->json, "language")),
		   *cwd = json_string_value(json_object_get(c->json, "cwd"));
	char id[32];

	(void)snprintf(id, sizeof(id), "mock-context-%u", ++sb->next_id);
	json_t *ctx = json_pack("{s:s,s:s,s:s,s:{},s:i}", "id", id, "language", language ? language : "python", "cwd",
	    cwd ? cwd : "/home/user", "vars", "count", 0);

	(void)json_array_append_new(sb->contexts, ctx);
	mock_json(c, 200, public_context(ctx));
}

static void list(struct mock_call *c, const struct mock_sandbox *sb)
{
	json_t *all = json_array();

	for (size_t i = 0; i < json_array_size(sb->contexts); i++)
		(void)json_array_append_new(all, public_context(json_array_get(sb->contexts, i)));
	mock_json(c, 200, all);
}

static void one(struct mock_call *c, struct mock_sandbox *sb)
{
	const char *name = c->path + strlen("/contexts/");
	size_t n = strcspn(name, "/"), i;
	autofree char *id = str_dup((struct str) { name, n });
	json_t *ctx = id ? find(sb, id, &i) : NULL;

	if (!ctx) {
		not_found(c, id ? id : "");
	} else if (strcmp(c->method, "DELETE") == 0) {
		(void)json_array_remove(sb->contexts, i);
		mock_json(c, 200, json_object());
	} else {
		(void)json_object_set_new(ctx, "vars", json_object());
		(void)json_object_set_new(ctx, "count", json_integer(0));
		mock_json(c, 200, json_object());
	}
}

bool mock_code(struct mock_call *c, struct mock_sandbox *sb)
{
	bool post = strcmp(c->method, "POST") == 0;

	if (strcmp(c->path, "/execute") == 0 && post)
		execute_any(c, sb);
	else if (strcmp(c->path, "/contexts") == 0 && post)
		create(c, sb);
	else if (strcmp(c->path, "/contexts") == 0)
		list(c, sb);
	else if (strncmp(c->path, "/contexts/", 10) == 0)
		one(c, sb);
	else
		return false;
	return true;
}
