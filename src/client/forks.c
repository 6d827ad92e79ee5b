/* SPDX-License-Identifier: Apache-2.0 */
/* client/forks: creates copies of a running sandbox. */
#include <errno.h>
#include <stdlib.h>

#include "base/fd.h"
#include "client/client.h"
#include "http/json.h"

static void fill_fork(struct kept *k, void *item, json_t *o)
{
	struct atoll_fork *f = item;
	const json_t *error = json_object_get(o, "error");

	(void)k;
	*f = (struct atoll_fork) {
		.id = json_text_or_null(json_object_get(o, "sandbox"), "sandboxID"),
		.error = json_text_or_null(error, "message"),
		.code = (int)json_number(error, "code", 0),
	};
	if (!f->id && !f->error)
		f->error = "the server gave no reason";
}

int atoll_fork(struct atoll *a, const char *id, const struct atoll_fork_spec *spec, struct atoll_forks **ret,
    struct atoll_error *e)
{
	NEED(e, a && id && spec && ret);
	struct atoll_fork_spec own;

	if (TAKE_IN(&own, spec, e) < 0)
		return -e->no;
	spec = &own;
	autofree char *path = api_path("/sandboxes/", id, "/fork");
	autocall struct call c = CALL_INIT("POST", a->api_url, path);
	autojson json_t *body = json_object();
	json_t *root;
	struct kept *k;

	if (!body || (spec->count && json_object_set_new(body, "count", json_integer(spec->count)) < 0) ||
	    (spec->timeout_s && json_object_set_new(body, "timeout", json_integer(spec->timeout_s)) < 0) ||
	    (spec->inherit_secrets && json_object_set_new(body, "inheritSecrets", json_true()) < 0))
		return client_no_memory(e);
	if (api_send(a, &c, body, e) < 0)
		return api_no_sandbox(e, id);
	if (call_json(&c, JSON_ARRAY, &root, e) < 0 ||
	    kept_new(root, sizeof(struct atoll_fork), fill_fork, NULL, &k, e) < 0)
		return -e->no;
	*ret = &k->forks;
	return 0;
}

void atoll_forks_free(struct atoll_forks *f)
{
	kept_free((struct kept *)f);
}
