/* SPDX-License-Identifier: Apache-2.0 */
/* client/mock/api: the control API of the mock: creates, changes and kills sandboxes. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/fd.h"
#include "client/atoll.h"
#include "client/mock/state.h"
#include "http/json.h"

struct mock_sandbox *mock_sandbox_find(struct mock *m, const char *id)
{
	for (struct mock_sandbox *sb = m->sandboxes; sb; sb = sb->next) {
		if (strcmp(sb->id, id) == 0 && (sb->running || sb->paused))
			return sb;
	}
	return NULL;
}

static void process_free(struct mock_process *p)
{
	json_decref(p->config);
	json_decref(p->tag);
	json_decref(p->events);
	buf_done(&p->input);
	free(p);
}

void mock_sandbox_free(struct mock_sandbox *sb)
{
	for (struct mock_process *p = sb->processes, *next; p; p = next) {
		next = p->next;
		process_free(p);
	}
	json_decref(sb->info);
	json_decref(sb->envs);
	json_decref(sb->files);
	json_decref(sb->changes);
	json_decref(sb->watchers);
	json_decref(sb->contexts);
	free(sb);
}

static json_t *time_json(uint64_t wall_ms)
{
	char at[CLOCK_RFC3339_SIZE];

	clock_rfc3339(wall_ms, at);
	return json_string(at);
}

static void set_end(struct mock_sandbox *sb, int64_t timeout_s)
{
	(void)json_object_set_new(sb->info, "endAt",
	    time_json(clock_wall_ms() + (uint64_t)(timeout_s > 0 ? timeout_s : 0) * 1000));
}

static json_t *new_files(void)
{
	return json_pack("{s:{s:b},s:{s:b},s:{s:b},s:{s:b}}", "/", "dir", 1, "/home", "dir", 1, "/home/user", "dir", 1,
	    "/tmp", "dir", 1);
}

static void create(struct mock_call *c)
{
	const char *template_id = json_string_value(json_object_get(c->json, "templateID"));
	json_t *metadata = json_object_get(c->json, "metadata"), *timeout = json_object_get(c->json, "timeout");
	struct mock_sandbox *sb;

	if (!template_id || (strcmp(template_id, "base") != 0 && strcmp(template_id, ATOLL_TEMPLATE_DEFAULT) != 0)) {
		mock_refuse(c, 404, "template '%s' not found", template_id ? template_id : "");
		return;
	}
	sb = calloc(1, sizeof(*sb));
	if (!sb) {
		mock_refuse(c, 500, "out of memory");
		return;
	}
	sb->m = c->m;
	sb->running = true;
	sb->next_pid = 1000;
	(void)snprintf(sb->id, sizeof(sb->id), "mock%016u", ++c->m->next_id);
	sb->info = json_pack("{s:s,s:s,s:s,s:s,s:s,s:s,s:i,s:i,s:i,s:o,s:O*}", "sandboxID", sb->id, "templateID",
	    template_id, "clientID", "mock", "envdVersion", "0.6.13", "state", "running", "envdAccessToken",
	    "mock-token", "cpuCount", 1, "memoryMB", 512, "diskSizeMB", 512, "startedAt", time_json(clock_wall_ms()),
	    "metadata", metadata);
	set_end(sb, json_is_integer(timeout) ? json_integer_value(timeout) : 300);
	sb->envs = json_deep_copy(json_object_get(c->json, "envVars"));
	sb->files = new_files();
	sb->changes = json_array();
	sb->watchers = json_object();
	sb->contexts = json_pack("[{s:s,s:s,s:s,s:{},s:i}]", "id", "mock-default", "language", "python", "cwd",
	    "/home/user", "vars", "count", 0);
	sb->next = c->m->sandboxes;
	c->m->sandboxes = sb;
	mock_json(c, 201, json_incref(sb->info));
}

static void list(struct mock_call *c)
{
	json_t *all = json_array();

	for (struct mock_sandbox *sb = c->m->sandboxes; sb; sb = sb->next) {
		if (sb->running || sb->paused)
			(void)json_array_append(all, sb->info);
	}
	mock_json(c, 200, all);
}

static void set_state(struct mock_sandbox *sb, bool running, bool paused)
{
	sb->running = running;
	sb->paused = paused;
	(void)json_object_set_new(sb->info, "state", json_string(paused ? "paused" : "running"));
	for (struct mock_process *p = sb->processes; !running && !paused && p; p = p->next)
		p->killed = true;
	(void)pthread_cond_broadcast(&sb->m->changed);
}

static void change(struct mock_call *c, struct mock_sandbox *sb, bool wants_paused, bool run, int status)
{
	if (sb->paused != wants_paused) {
		mock_refuse(c, 409, "sandbox '%s' is already %s", sb->id, sb->paused ? "paused" : "running");
		return;
	}
	set_state(sb, run, !run);
	if (status == 204)
		c->status = 204;
	else
		mock_json(c, status, json_incref(sb->info));
}

static void metrics(struct mock_call *c)
{
	uint64_t now = clock_wall_ms();

	mock_json(c, 200,
	    json_pack("[{s:o,s:I,s:i,s:f,s:i,s:i,s:i,s:i,s:i}]", "timestamp", time_json(now), "timestampUnix",
		(json_int_t)(now / 1000), "cpuCount", 1, "cpuUsedPct", 0.0, "memUsed", 1048576, "memTotal", 536870912,
		"memCache", 0, "diskUsed", 0, "diskTotal", 536870912));
}

static void one(struct mock_call *c, struct mock_sandbox *sb, const char *what)
{
	bool get = strcmp(c->method, "GET") == 0;

	if (!*what && get) {
		mock_json(c, 200, json_incref(sb->info));
	} else if (!*what && strcmp(c->method, "DELETE") == 0) {
		set_state(sb, false, false);
		c->status = 204;
	} else if (strcmp(what, "/connect") == 0) {
		set_state(sb, true, false);
		mock_json(c, 200, json_incref(sb->info));
	} else if (strcmp(what, "/pause") == 0) {
		change(c, sb, false, false, 204);
	} else if (strcmp(what, "/resume") == 0) {
		change(c, sb, true, true, 201);
	} else if (strcmp(what, "/timeout") == 0) {
		set_end(sb, json_integer_value(json_object_get(c->json, "timeout")));
		c->status = 204;
	} else if (strcmp(what, "/metrics") == 0 && get) {
		metrics(c);
	} else if (strcmp(what, "/logs") == 0 && get) {
		mock_json(c, 200, json_pack("{s:[],s:[]}", "logs", "logEntries"));
	} else {
		mock_refuse(c, 501, "the mock does not implement %s %s", c->method, c->path);
	}
}

void mock_api(struct mock_call *c)
{
	const char *path = strncmp(c->path, "/v2/", 4) == 0 ? c->path + 3 : c->path;
	char id[32];

	if (strcmp(path, "/health") == 0) {
		c->status = 204;
		return;
	}
	if (strcmp(path, "/sandboxes") == 0) {
		if (strcmp(c->method, "POST") == 0)
			create(c);
		else
			list(c);
		return;
	}
	if (strncmp(path, "/sandboxes/", 11) != 0) {
		mock_refuse(c, 501, "the mock does not implement %s %s", c->method, c->path);
		return;
	}
	size_t n = strcspn(path + 11, "/");
	struct mock_sandbox *sb = str_copy(id, sizeof(id), (struct str) { path + 11, n }) ? mock_sandbox_find(c->m, id)
											  : NULL;

	if (!sb)
		mock_refuse(c, 404, "sandbox not found");
	else
		one(c, sb, path + 11 + n);
}
