/* SPDX-License-Identifier: Apache-2.0 */
/* client/sandbox: the control API: create, open, list, kill. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "client/client.h"
#include "http/json.h"
#include "http/url.h"

#define PAGES_MAX 1000

static int api_call(struct atoll *a, struct call *c, struct atoll_error *e)
{
	if (call_header(c, "X-API-Key: %s", a->api_key) < 0)
		return client_no_memory(e);
	return call_run(a, c, e);
}

static int api_post(struct atoll *a, struct call *c, const json_t *body, struct atoll_error *e)
{
	autofree char *text = json_dumps(body, JSON_COMPACT);

	if (!text || call_header(c, "Content-Type: application/json") < 0)
		return client_no_memory(e);
	c->body = str_of(text);
	return api_call(a, c, e);
}

/* "/sandboxes/ID" + tail; NULL when out of memory. */
static char *sandbox_path(const char *prefix, const char *id, const char *tail)
{
	autobuf struct buf b = BUF_INIT(4096);

	buf_z(&b, prefix);
	url_encode(&b, str_of(id));
	buf_z(&b, tail);
	return b.bad ? NULL : str_dup(buf_view(&b));
}

/* Says which sandbox, where the server's text might not. */
static int about(struct atoll_error *e, const char *id)
{
	if (e->status == 404)
		return client_fail(e, ENOENT, 404, "there is no sandbox '%s'", id);
	return -e->no;
}

int atoll_health(struct atoll *a, struct atoll_error *e)
{
	autocall struct call c = CALL_INIT("GET", a->api_url, "/health");

	c.timeout_ms = 5000;
	return call_run(a, &c, e);
}

static int sandbox_new(struct atoll *a, const struct call *c, struct atoll_sandbox **ret, struct atoll_error *e)
{
	autojson json_t *j = NULL;

	if (call_json(c, JSON_OBJECT, &j, e) < 0)
		return -e->no;
	const char *id = json_string_value(json_object_get(j, "sandboxID"));
	const char *token = json_string_value(json_object_get(j, "envdAccessToken"));

	if (!id || strpbrk(id, "\r\n") || (token && strpbrk(token, "\r\n")))
		return client_fail(e, EPROTO, c->status, "%s did not answer as an atoll or E2B server does", c->base);
	struct atoll_sandbox *sb = calloc(1, sizeof(*sb));
	if (!sb)
		return client_no_memory(e);
	sb->a = a;
	sb->id = str_dup(str_of(id));
	sb->token = token ? str_dup(str_of(token)) : NULL;
	sb->json = json_dumps(j, JSON_COMPACT);
	if (!sb->id || !sb->json || (token && !sb->token)) {
		atoll_sandbox_free(sb);
		return client_no_memory(e);
	}
	*ret = sb;
	return 0;
}

int atoll_sandbox_create(struct atoll *a, const struct atoll_spec *spec, struct atoll_sandbox **ret, struct atoll_error *e)
{
	autocall struct call c = CALL_INIT("POST", a->api_url, "/v2/sandboxes");
	autojson json_t *body = json_pack("{s:s}", "templateID", spec->template_id);
	json_t *metadata, *envs;

	if (!body)
		return client_fail(e, EINVAL, 0, "the template's name is not valid UTF-8");
	if (client_pairs_json(spec->metadata, spec->n_metadata, &metadata, e) < 0)
		return -e->no;
	json_object_set_new(body, "metadata", metadata);
	if (client_pairs_json(spec->envs, spec->n_envs, &envs, e) < 0)
		return -e->no;
	json_object_set_new(body, "envVars", envs);
	if (spec->timeout_s > 0)
		json_object_set_new(body, "timeout", json_integer(spec->timeout_s));
	if (api_post(a, &c, body, e) < 0)
		return -e->no;
	return sandbox_new(a, &c, ret, e);
}

static int sandbox_resume(struct atoll *a, const char *id, struct atoll_sandbox **ret, struct atoll_error *e)
{
	autofree char *path = sandbox_path("/v2/sandboxes/", id, "/connect");
	autocall struct call c = CALL_INIT("POST", a->api_url, path);
	autojson json_t *body = json_object();

	if (!path || !body)
		return client_no_memory(e);
	if (api_post(a, &c, body, e) < 0)
		return about(e, id);
	return sandbox_new(a, &c, ret, e);
}

int atoll_sandbox_open(struct atoll *a, const char *id, struct atoll_sandbox **ret, struct atoll_error *e)
{
	autofree char *path = sandbox_path("/sandboxes/", id, "");
	autocall struct call c = CALL_INIT("GET", a->api_url, path);
	autojson json_t *j = NULL;

	if (!path)
		return client_no_memory(e);
	if (*id == '\0')
		return client_fail(e, EINVAL, 0, "the sandbox id is empty");
	if (api_call(a, &c, e) < 0)
		return about(e, id);
	if (call_json(&c, JSON_OBJECT, &j, e) < 0)
		return -e->no;
	const char *state = json_string_value(json_object_get(j, "state"));
	if (state && strcmp(state, "paused") == 0)
		return sandbox_resume(a, id, ret, e);
	return sandbox_new(a, &c, ret, e);
}

const char *atoll_sandbox_id(const struct atoll_sandbox *sb)
{
	return sb->id;
}

const char *atoll_sandbox_json(const struct atoll_sandbox *sb)
{
	return sb->json;
}

int atoll_sandbox_running(struct atoll_sandbox *sb, struct atoll_error *e)
{
	autocall struct call c = CALL_INIT("GET", sb->a->sandbox_url, "/health");

	c.timeout_ms = 5000;
	if (call_header_sandbox(&c, sb) < 0)
		return client_no_memory(e);
	if (call_run(sb->a, &c, e) == 0)
		return 1;
	return e->status == 502 ? 0 : -e->no;
}

void atoll_sandbox_free(struct atoll_sandbox *sb)
{
	if (!sb)
		return;
	free(sb->id);
	free(sb->token);
	free(sb->json);
	free(sb);
}

int atoll_kill(struct atoll *a, const char *id, struct atoll_error *e)
{
	autofree char *path = sandbox_path("/sandboxes/", id, "");
	autocall struct call c = CALL_INIT("DELETE", a->api_url, path);

	if (!path)
		return client_no_memory(e);
	/* An empty id would name the collection. */
	if (*id == '\0')
		return client_fail(e, EINVAL, 0, "the sandbox id is empty");
	return api_call(a, &c, e) < 0 ? about(e, id) : 0;
}

/* --- list --- */

struct list {
	struct atoll_list pub;		/* first: atoll_list_free() gets back here */
	json_t *all;			/* owns every string */
	struct atoll_info *infos;
	struct atoll_pair *pairs;
	char *json;
};

static int fetch_pages(struct atoll *a, json_t *all, struct atoll_error *e)
{
	autofree char *path = str_dup(STR_LIT("/v2/sandboxes?limit=100"));

	for (int page = 0; page < PAGES_MAX; page++) {
		autocall struct call c = CALL_INIT("GET", a->api_url, path);
		autojson json_t *some = NULL;

		if (!path)
			return client_no_memory(e);
		if (api_call(a, &c, e) < 0 || call_json(&c, JSON_ARRAY, &some, e) < 0)
			return -e->no;
		if (json_array_extend(all, some) < 0)
			return client_no_memory(e);
		if (c.next_token[0] == '\0')
			return 0;
		free(path);
		path = sandbox_path("/v2/sandboxes?limit=100&nextToken=", c.next_token, "");
	}
	return client_fail(e, EPROTO, 0, "the list of sandboxes does not end");
}

static const char *text_of(const json_t *o, const char *field)
{
	const char *z = json_string_value(json_object_get(o, field));

	return z ? z : "";
}

static void fill_info(struct atoll_info *i, json_t *o, struct atoll_pair **pairs)
{
	json_t *metadata = json_object_get(o, "metadata"), *value;
	const char *name;

	*i = (struct atoll_info) {
		.id = text_of(o, "sandboxID"), .template_id = text_of(o, "templateID"),
		.alias = json_string_value(json_object_get(o, "alias")), .state = text_of(o, "state"),
		.started_at = text_of(o, "startedAt"), .end_at = text_of(o, "endAt"), .metadata = *pairs,
	};
	json_object_foreach(metadata, name, value) {
		*(*pairs)++ = (struct atoll_pair) { name, json_is_string(value) ? json_string_value(value) : "" };
		i->n_metadata++;
	}
}

int atoll_list_sandboxes(struct atoll *a, struct atoll_list **ret, struct atoll_error *e)
{
	struct list *l = calloc(1, sizeof(*l));
	size_t n_pairs = 0, i;
	json_t *o;

	if (!l || !(l->all = json_array())) {
		free(l);
		return client_no_memory(e);
	}
	if (fetch_pages(a, l->all, e) < 0) {
		atoll_list_free(&l->pub);
		return -e->no;
	}
	json_array_foreach(l->all, i, o)
		n_pairs += json_object_size(json_object_get(o, "metadata"));
	l->pub.n = json_array_size(l->all);
	l->infos = calloc(l->pub.n + 1, sizeof(*l->infos));
	l->pairs = calloc(n_pairs + 1, sizeof(*l->pairs));
	l->json = json_dumps(l->all, JSON_COMPACT);
	if (!l->infos || !l->pairs || !l->json) {
		atoll_list_free(&l->pub);
		return client_no_memory(e);
	}
	struct atoll_pair *at = l->pairs;
	json_array_foreach(l->all, i, o)
		fill_info(&l->infos[i], o, &at);
	l->pub.v = l->infos;
	l->pub.json = l->json;
	*ret = &l->pub;
	return 0;
}

void atoll_list_free(struct atoll_list *pub)
{
	struct list *l = (struct list *)pub;

	if (!l)
		return;
	json_decref(l->all);
	free(l->infos);
	free(l->pairs);
	free(l->json);
	free(l);
}
