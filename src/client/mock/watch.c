/* SPDX-License-Identifier: Apache-2.0 */
/* client/mock/watch: changes of files in a mock sandbox, streamed or polled. */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "client/mock/state.h"
#include "http/json.h"

/* Returns the message about a change if it concerns a watcher of dir, else NULL. */
static json_t *message(const json_t *change, const char *dir, bool recursive)
{
	const char *path = json_string_value(json_object_get(change, "path"));
	size_t n = strlen(dir);

	if (strncmp(path, dir, n) != 0 || path[n] != '/' || (!recursive && strchr(path + n + 1, '/')))
		return NULL;
	return json_pack("{s:s,s:O}", "name", path + n + 1, "type", json_object_get(change, "type"));
}

static void stream(struct mock_call *c, struct mock_sandbox *sb, const char *dir, bool recursive)
{
	uint64_t until = c->timeout_ms ? clock_mono_ms() + c->timeout_ms : UINT64_MAX;
	autojson json_t *start = json_pack("{s:{}}", "start");
	size_t seen = json_array_size(sb->changes);

	mock_stream_begin(c, "application/connect+json");
	mock_stream_message(c, start);
	do {
		while (seen < json_array_size(sb->changes) && !c->broken) {
			json_t *one = message(json_array_get(sb->changes, seen++), dir, recursive);
			autojson json_t *m = one ? json_pack("{s:o}", "filesystem", one) : NULL;

			if (m)
				mock_stream_message(c, m);
		}
	} while (sb->running && mock_stream_wait(c, until));
	if (!sb->running)
		c->broken = true; /* killing a sandbox ends its streams abruptly */
	else
		mock_stream_end(c, "deadline_exceeded", "the timeout has expired");
}

static void create(struct mock_call *c, struct mock_sandbox *sb, const char *dir, bool recursive)
{
	char id[32];

	(void)snprintf(id, sizeof(id), "mock-watcher-%u", ++sb->next_id);
	(void)json_object_set_new(sb->watchers, id,
	    json_pack("{s:s,s:b,s:I}", "path", dir, "recursive", recursive, "seen",
		(json_int_t)json_array_size(sb->changes)));
	mock_json(c, 200, json_pack("{s:s}", "watcherId", id));
}

static void poll_events(struct mock_call *c, struct mock_sandbox *sb, json_t *w)
{
	const char *dir = json_string_value(json_object_get(w, "path"));
	bool recursive = json_is_true(json_object_get(w, "recursive"));
	json_t *events = json_array();

	for (size_t i = (size_t)json_integer_value(json_object_get(w, "seen")); i < json_array_size(sb->changes); i++) {
		json_t *one = message(json_array_get(sb->changes, i), dir, recursive);

		if (one)
			(void)json_array_append_new(events, one);
	}
	(void)json_object_set_new(w, "seen", json_integer((json_int_t)json_array_size(sb->changes)));
	mock_json(c, 200, json_pack("{s:o}", "events", events));
}

static void begin(struct mock_call *c, struct mock_sandbox *sb, bool streamed)
{
	const char *given = json_string_value(json_object_get(c->json, "path"));
	bool recursive = json_is_true(json_object_get(c->json, "recursive"));
	autobuf struct buf dir = BUF_INIT(8192);

	mock_path(given ? given : "", &dir);
	const json_t *f = mock_file(sb, buf_cstr(&dir));
	const char *code = !f ? "not_found" : json_is_true(json_object_get(f, "dir")) ? NULL : "invalid_argument";

	if (!code && streamed) {
		stream(c, sb, buf_cstr(&dir), recursive);
	} else if (!code) {
		create(c, sb, buf_cstr(&dir), recursive);
	} else if (streamed) {
		mock_stream_begin(c, "application/connect+json");
		mock_stream_end(c, code, "no such directory");
	} else {
		mock_rpc_refuse(c, f ? 400 : 404, code, "no such directory");
	}
}

bool mock_watch(struct mock_call *c, struct mock_sandbox *sb)
{
	static const char prefix[] = "/filesystem.Filesystem/";
	const char *what = c->path + sizeof(prefix) - 1, *id = json_string_value(json_object_get(c->json, "watcherId"));

	if (strncmp(c->path, prefix, sizeof(prefix) - 1) != 0)
		return false;
	if (strcmp(what, "WatchDir") == 0 || strcmp(what, "CreateWatcher") == 0) {
		begin(c, sb, *what == 'W');
		return true;
	}
	if (strcmp(what, "GetWatcherEvents") != 0 && strcmp(what, "RemoveWatcher") != 0)
		return false;
	json_t *w = id ? json_object_get(sb->watchers, id) : NULL;

	if (!w) {
		mock_rpc_refuse(c, 404, "not_found", "no such watcher");
	} else if (*what == 'G') {
		poll_events(c, sb, w);
	} else {
		(void)json_object_del(sb->watchers, id);
		mock_json(c, 200, json_object());
	}
	return true;
}
