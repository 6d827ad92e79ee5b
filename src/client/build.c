/* SPDX-License-Identifier: Apache-2.0 */
/* client/build: builds a template. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "client/client.h"
#include "http/json.h"

struct atoll_build {
	struct atoll *a;
	char *id, *template_id;
	char *url;     /* upload URL of the archive last checked */
	uint64_t seen; /* log entries seen */
};

void atoll_build_free(struct atoll_build *b)
{
	if (!b)
		return;
	free(b->id);
	free(b->template_id);
	free(b->url);
	free(b);
}

const char *atoll_build_id(const struct atoll_build *b)
{
	return b ? b->id : NULL;
}

const char *atoll_build_template(const struct atoll_build *b)
{
	return b ? b->template_id : NULL;
}

int atoll_build_new(struct atoll *a, const struct atoll_build_spec *spec, struct atoll_build **ret,
    struct atoll_error *e)
{
	NEED(e, a && spec && ret);
	struct atoll_build_spec own;

	if (TAKE_IN(&own, spec, e) < 0)
		return -e->no;
	spec = &own;
	autocall struct call c = CALL_INIT("POST", a->api_url, "/v3/templates");
	autojson json_t *body = json_pack("{s:s}", "name", spec->name), *root = NULL;
	struct atoll_build *b;

	if (!body)
		return client_fail(e, EINVAL, 0, "the name of the template is not valid UTF-8");
	if (spec->cpu_count)
		(void)json_object_set_new(body, "cpuCount", json_integer(spec->cpu_count));
	if (spec->memory_mb)
		(void)json_object_set_new(body, "memoryMB", json_integer(spec->memory_mb));
	if (api_send(a, &c, body, e) < 0 || call_json(&c, JSON_OBJECT, &root, e) < 0)
		return -e->no;
	b = calloc(1, sizeof(*b));
	if (!b)
		return client_no_memory(e);
	b->a = a;
	b->id = str_dup(str_of(json_text(root, "buildID")));
	b->template_id = str_dup(str_of(json_text(root, "templateID")));
	if (!b->id || !b->template_id) {
		atoll_build_free(b);
		return client_no_memory(e);
	}
	*ret = b;
	return 0;
}

int atoll_build_has(struct atoll_build *b, const char *hash, struct atoll_error *e)
{
	NEED(e, b && hash);
	autofree char *tail = str_fmt("/files/%s", hash),
		      *path = tail ? api_path("/templates/", b->template_id, tail) : NULL;
	autocall struct call c = CALL_INIT("GET", b->a->api_url, path);
	autojson json_t *root = NULL;

	if (!path)
		return client_no_memory(e);
	if (api_call(b->a, &c, e) < 0 || call_json(&c, JSON_OBJECT, &root, e) < 0)
		return -e->no;
	free(b->url);
	b->url = str_dup(str_of(json_text(root, "url")));
	return json_is_true(json_object_get(root, "present"));
}

int atoll_build_send(struct atoll_build *b, const char *hash, uint64_t bytes, atoll_source *source, void *user,
    struct atoll_error *e)
{
	NEED(e, b && hash && source);
	autocall struct call c = CALL_INIT("PUT", "", "");
	struct str url = str_of(b->url);

	if ((!b->url || !*b->url) && atoll_build_has(b, hash, e) < 0)
		return -e->no;
	url = str_of(b->url);
	if (!str_starts(url, "http"))
		return client_fail(e, EPROTO, 0, "the server did not return an upload URL");
	c.path = b->url;
	c.source = source;
	c.source_user = user;
	c.timeout_ms = 0;
	c.length = (int64_t)bytes;
	int r = call_run(b->a, &c, e);

	free(b->url);
	b->url = NULL;
	return r;
}

int atoll_build_start(struct atoll_build *b, const char *spec, struct atoll_error *e)
{
	NEED(e, b && spec);
	autofree char *tail = str_fmt("/builds/%s", b->id),
		      *path = tail ? api_path("/v2/templates/", b->template_id, tail) : NULL;
	autocall struct call c = CALL_INIT("POST", b->a->api_url, path);
	autojson json_t *body = json_loads(spec, 0, NULL);

	if (!path)
		return client_no_memory(e);
	if (!body)
		return client_fail(e, EINVAL, 0, "the build description is not valid JSON");
	return api_send(b->a, &c, body, e);
}

static int page(struct atoll_build *b, json_t **ret, struct atoll_error *e)
{
	autofree char *tail = str_fmt("/builds/%s/status?logsOffset=%llu", b->id, (unsigned long long)b->seen);
	autofree char *path = tail ? api_path("/templates/", b->template_id, tail) : NULL;
	autocall struct call c = CALL_INIT("GET", b->a->api_url, path);

	if (!path)
		return client_no_memory(e);
	return api_call(b->a, &c, e) < 0 || call_json(&c, JSON_OBJECT, ret, e) < 0 ? -e->no : 0;
}

int atoll_build_poll(struct atoll_build *b, atoll_build_sink *sink, void *user, struct atoll_error *e)
{
	NEED(e, b);
	for (;;) {
		autojson json_t *root = NULL;
		json_t *v;
		size_t i, n;

		if (page(b, &root, e) < 0)
			return -e->no;
		n = json_array_size(json_object_get(root, "logEntries"));
		json_array_foreach(json_object_get(root, "logEntries"), i, v)
		{
			struct atoll_build_log l = {
				json_text(v, "timestamp"),
				json_text(v, "level"),
				json_text(v, "step"),
				json_text(v, "message"),
			};

			if (sink)
				sink(user, &l);
		}
		b->seen += n;
		if (n > 0)
			continue; /* the next page may contain the last ones */
		const char *status = json_text(root, "status");

		if (strcmp(status, "ready") == 0)
			return 1;
		if (strcmp(status, "error") != 0)
			return 0;
		const json_t *reason = json_object_get(root, "reason");

		return client_fail(e, EIO, 0, "%s%s: %s",
		    strspn(json_text(reason, "step"), "0123456789") ? "step " : "", json_text(reason, "step"),
		    json_text(reason, "message"));
	}
}

int atoll_build_cancel(struct atoll_build *b, struct atoll_error *e)
{
	NEED(e, b);
	autofree char *tail = str_fmt("/builds/%s", b->id),
		      *path = tail ? api_path("/templates/", b->template_id, tail) : NULL;
	autocall struct call c = CALL_INIT("DELETE", b->a->api_url, path);

	if (!path)
		return client_no_memory(e);
	return api_call(b->a, &c, e);
}
