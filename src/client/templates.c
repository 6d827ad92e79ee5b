/* SPDX-License-Identifier: Apache-2.0 */
/* client/templates: lists, inspects, names and removes templates. */
#include <errno.h>
#include <stdlib.h>

#include "base/fd.h"
#include "client/client.h"
#include "http/json.h"

static void fill_template(struct kept *k, void *item, json_t *o)
{
	const char *name = json_string_value(json_array_get(json_object_get(o, "aliases"), 0));

	(void)k;
	*(struct atoll_template *)item = (struct atoll_template) {
		.id = json_text(o, "templateID"),
		.name = name ? name : "",
		.build_id = json_text(o, "buildID"),
		.status = json_text(o, "buildStatus"),
		.created_at = json_text(o, "createdAt"),
		.is_public = json_is_true(json_object_get(o, "public")),
		.cpu_count = (unsigned)json_number(o, "cpuCount", 0),
		.memory_mb = (uint64_t)json_number(o, "memoryMB", 0),
		.spawn_count = json_number(o, "spawnCount", 0),
		.build_count = json_number(o, "buildCount", 0),
	};
}

/* Adds the server's own templates, which belong to no team. A server without this call has none. */
static int add_defaults(struct atoll *a, json_t *list, struct atoll_error *e)
{
	autocall struct call c = CALL_INIT("GET", a->api_url, "/default-templates");
	autojson json_t *more = NULL;

	if (api_call(a, &c, e) < 0)
		return e->status >= 400 && e->status < 500 && e->status != 429 ? 0 : -e->no;
	if (call_json(&c, JSON_ARRAY, &more, e) < 0)
		return -e->no;
	return json_array_extend(list, more) < 0 ? client_no_memory(e) : 0;
}

int atoll_templates_list(struct atoll *a, struct atoll_templates **ret, struct atoll_error *e)
{
	NEED(e, a && ret);
	autocall struct call c = CALL_INIT("GET", a->api_url, "/templates");
	struct kept *k;
	json_t *root;

	if (api_call(a, &c, e) < 0 || call_json(&c, JSON_ARRAY, &root, e) < 0)
		return -e->no;
	if (add_defaults(a, root, e) < 0) {
		json_decref(root);
		return -e->no;
	}
	if (kept_new(root, sizeof(struct atoll_template), fill_template, NULL, &k, e) < 0)
		return -e->no;
	*ret = &k->templates;
	return 0;
}

void atoll_templates_free(struct atoll_templates *t)
{
	kept_free((struct kept *)t);
}

static int about(struct atoll_error *e, const char *name)
{
	return e->status == 404 ? client_fail(e, ENOENT, 404, "there is no template '%s'", name) : -e->no;
}

int atoll_template_inspect(struct atoll *a, const char *name, char **ret_json, struct atoll_error *e)
{
	NEED(e, a && name && ret_json);
	autofree char *path = api_path("/templates/", name, ""), *tags_path = api_path("/templates/", name, "/tags");
	autocall struct call c = CALL_INIT("GET", a->api_url, path), t = CALL_INIT("GET", a->api_url, tags_path);
	json_t *one = NULL, *tags = NULL;

	if (!path || !tags_path)
		return client_fail(e, EINVAL, 0, "the name of a template must not be empty");
	if (api_call(a, &c, e) < 0 || api_call(a, &t, e) < 0)
		return about(e, name);
	if (call_json(&c, JSON_OBJECT, &one, e) < 0 || call_json(&t, JSON_ARRAY, &tags, e) < 0) {
		json_decref(one);
		return -e->no;
	}
	autojson json_t *both = json_pack("{s:o,s:o}", "template", one, "tags", tags);
	char *text = both ? json_dumps(both, JSON_INDENT(2)) : NULL;

	if (!text)
		return client_no_memory(e);
	*ret_json = text;
	return 0;
}

int atoll_template_remove(struct atoll *a, const char *name, struct atoll_error *e)
{
	NEED(e, a && name);
	autofree char *path = api_path("/templates/", name, "");
	autocall struct call c = CALL_INIT("DELETE", a->api_url, path);

	if (!path)
		return client_fail(e, EINVAL, 0, "the name of a template must not be empty");
	return api_call(a, &c, e) < 0 ? about(e, name) : 0;
}

static int send_tags(struct atoll *a, const char *method, const char *field, const char *name, const char *const *tags,
    size_t n, struct atoll_error *e)
{
	autocall struct call c = CALL_INIT(method, a->api_url, "/templates/tags");
	autojson json_t *list = json_array(), *body = json_pack("{s:s,s:O}", field, name, "tags", list);

	for (size_t i = 0; i < n; i++)
		(void)json_array_append_new(list, json_string(tags[i]));
	if (!body)
		return client_fail(e, EINVAL, 0, "the name of the template is not valid UTF-8");
	return api_send(a, &c, body, e);
}

int atoll_template_tag(struct atoll *a, const char *target, const char *const *tags, size_t n, struct atoll_error *e)
{
	NEED(e, a && target && tags);
	return send_tags(a, "POST", "target", target, tags, n, e);
}

int atoll_template_untag(struct atoll *a, const char *name, const char *const *tags, size_t n, struct atoll_error *e)
{
	NEED(e, a && name && tags);
	return send_tags(a, "DELETE", "name", name, tags, n, e);
}

int atoll_template_public(struct atoll *a, const char *name, bool is_public, struct atoll_error *e)
{
	NEED(e, a && name);
	autofree char *path = api_path("/v2/templates/", name, "");
	autocall struct call c = CALL_INIT("PATCH", a->api_url, path);
	autojson json_t *body = json_pack("{s:b}", "public", (int)is_public);

	if (!path)
		return client_fail(e, EINVAL, 0, "the name of a template must not be empty");
	return api_send(a, &c, body, e) < 0 ? about(e, name) : 0;
}

int atoll_template_gc(struct atoll *a, int64_t max_mb, struct atoll_gc *ret, struct atoll_error *e)
{
	NEED(e, a && ret);
	autocall struct call c = CALL_INIT("POST", a->api_url, "/admin/templates/gc");
	autojson json_t *body = max_mb < 0 ? json_object() : json_pack("{s:I}", "maxMB", (json_int_t)max_mb);
	json_t *root = NULL;

	c.timeout_ms = 0; /* images may be large; atoll_set_stop() can cancel it */
	if (api_send(a, &c, body, e) < 0 || call_json(&c, JSON_OBJECT, &root, e) < 0)
		return -e->no;
	*ret = (struct atoll_gc) {
		(unsigned)json_number(root, "layers", 0),
		(unsigned)json_number(root, "uploads", 0),
		(unsigned)json_number(root, "images", 0),
	};
	json_decref(root);
	return 0;
}
