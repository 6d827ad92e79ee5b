/* SPDX-License-Identifier: Apache-2.0 */
/* client/limits: resource limits of a sandbox. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "client/client.h"
#include "http/json.h"

static void fill(struct kept *k, void *item, json_t *o)
{
	struct atoll_limit *l = item;

	(void)k;
	*l = (struct atoll_limit) {
		.name = json_text(o, "name"),
		.value = json_text_or_null(o, "value"),
		.max = json_text_or_null(o, "max"),
		.used = json_text_or_null(o, "used"),
	};
}

static json_t *number_text(const json_t *v)
{
	char z[32];

	if (!json_is_number(v))
		return json_null();
	(void)snprintf(z, sizeof z, json_is_integer(v) ? "%.0f" : "%g", json_number_value(v));
	return json_string(z);
}

static json_t *rows(const json_t *answer)
{
	json_t *all = json_array(), *v;
	const char *name;

	json_object_foreach(json_object_get(answer, "limits"), name, v)(void) json_array_append_new(all,
	    json_pack("{s:s,s:o,s:o,s:o}", "name", name, "value", number_text(v), "max",
		number_text(json_object_get(json_object_get(answer, "maxima"), name)), "used",
		number_text(json_object_get(json_object_get(answer, "used"), name))));
	return all;
}

/* Parses a number, or null for the default. Returns NULL for other text. */
static json_t *value_json(const char *text)
{
	char *end;
	double d = strtod(text, &end);

	if (strcmp(text, "default") == 0)
		return json_null();
	if (end == text || *end)
		return NULL;
	return strspn(text, "-0123456789") == strlen(text) ? json_integer(strtoll(text, NULL, 10)) : json_real(d);
}

json_t *client_limits_json(const struct atoll_pair *set, size_t n, struct atoll_error *e)
{
	json_t *body = json_object();

	for (size_t i = 0; i < n; i++) {
		json_t *v = value_json(set[i].value);

		if (!v) {
			json_decref(body);
			client_fail(e, EINVAL, 0, "'%.60s' is not a number or 'default'", set[i].value);
			return NULL;
		}
		(void)json_object_set_new(body, set[i].name, v);
	}
	if (!body)
		client_no_memory(e);
	return body;
}

int atoll_limits(struct atoll *a, const char *id, const struct atoll_pair *set, size_t n, struct atoll_limits **ret,
    struct atoll_error *e)
{
	NEED(e, a && id && ret && (set || n == 0));
	autofree char *path = api_path("/sandboxes/", id, "/limits");
	autocall struct call c = CALL_INIT(n ? "PATCH" : "GET", a->api_url, path);
	autojson json_t *body = client_limits_json(set, n, e), *answer = NULL;
	struct kept *k;

	if (!body)
		return -e->no;
	if ((n ? api_send(a, &c, body, e) : api_call(a, &c, e)) < 0)
		return api_no_sandbox(e, id);
	if (call_json(&c, JSON_OBJECT, &answer, e) < 0 ||
	    kept_new(rows(answer), sizeof(struct atoll_limit), fill, NULL, &k, e) < 0)
		return -e->no;
	*ret = &k->limits;
	return 0;
}

void atoll_limits_free(struct atoll_limits *l)
{
	kept_free((struct kept *)l);
}
