/* SPDX-License-Identifier: Apache-2.0 */
/* client/volumes: creates, lists, resizes and removes volumes. */
#include <errno.h>
#include <stdlib.h>

#include "base/fd.h"
#include "client/client.h"
#include "http/json.h"

static void fill_volume(struct kept *k, void *item, json_t *o)
{
	struct atoll_volume *v = item;

	(void)k;
	*v = (struct atoll_volume) {
		.id = json_text(o, "volumeID"),
		.name = json_text(o, "name"),
		.created_at = json_text(o, "createdAt"),
		.size_mb = (uint64_t)json_number(o, "sizeMB", 0),
		.used_bytes = json_number(o, "usedBytes", -1),
		.sandboxes = json_number(o, "sandboxes", 0),
	};
}

static int volumes_of(json_t *root, struct atoll_volumes **ret, struct atoll_error *e)
{
	struct kept *k;

	if (kept_new(root, sizeof(struct atoll_volume), fill_volume, NULL, &k, e) < 0)
		return -e->no;
	*ret = &k->volumes;
	return 0;
}

static int about(struct atoll_error *e, const char *volume)
{
	if (e->status == 404)
		return client_fail(e, ENOENT, 404, "there is no volume '%s'", volume);
	return -e->no;
}

int atoll_volumes_list(struct atoll *a, struct atoll_volumes **ret, struct atoll_error *e)
{
	NEED(e, a && ret);
	autocall struct call c = CALL_INIT("GET", a->api_url, "/volumes");
	json_t *root;

	if (api_call(a, &c, e) < 0 || call_json(&c, JSON_ARRAY, &root, e) < 0)
		return -e->no;
	return volumes_of(root, ret, e);
}

static int send_volume(struct atoll *a, struct call *c, const char *name, unsigned size_mb, struct atoll_volumes **ret,
    struct atoll_error *e)
{
	autojson json_t *body = json_object();
	json_t *root;

	if (!body || (name && json_object_set_new(body, "name", json_string(name)) < 0) ||
	    (size_mb && json_object_set_new(body, "sizeMB", json_integer(size_mb)) < 0))
		return client_fail(e, EINVAL, 0, "the name of the volume is not valid UTF-8");
	if (api_send(a, c, body, e) < 0 || call_json(c, JSON_OBJECT, &root, e) < 0)
		return -e->no;
	return volumes_of(root, ret, e);
}

int atoll_volume_create(struct atoll *a, const char *name, unsigned size_mb, struct atoll_volumes **ret,
    struct atoll_error *e)
{
	NEED(e, a && name && ret);
	autocall struct call c = CALL_INIT("POST", a->api_url, "/volumes");

	return send_volume(a, &c, name, size_mb, ret, e);
}

int atoll_volume_get(struct atoll *a, const char *volume, struct atoll_volumes **ret, struct atoll_error *e)
{
	NEED(e, a && volume && ret);
	autofree char *path = api_path("/volumes/", volume, "");
	autocall struct call c = CALL_INIT("GET", a->api_url, path);
	json_t *root;

	if (*volume == '\0')
		return client_fail(e, EINVAL, 0, "the name of the volume is empty");
	if (api_call(a, &c, e) < 0)
		return about(e, volume);
	return call_json(&c, JSON_OBJECT, &root, e) < 0 ? -e->no : volumes_of(root, ret, e);
}

int atoll_volume_resize(struct atoll *a, const char *volume, unsigned size_mb, struct atoll_volumes **ret,
    struct atoll_error *e)
{
	NEED(e, a && volume && ret);
	autofree char *path = api_path("/volumes/", volume, "");
	autocall struct call c = CALL_INIT("PATCH", a->api_url, path);

	if (*volume == '\0')
		return client_fail(e, EINVAL, 0, "the name of the volume is empty");
	return send_volume(a, &c, NULL, size_mb, ret, e) < 0 ? about(e, volume) : 0;
}

int atoll_volume_remove(struct atoll *a, const char *volume, struct atoll_error *e)
{
	NEED(e, a && volume);
	autofree char *path = api_path("/volumes/", volume, "");
	autocall struct call c = CALL_INIT("DELETE", a->api_url, path);

	if (*volume == '\0')
		return client_fail(e, EINVAL, 0, "the name of the volume is empty");
	return api_call(a, &c, e) < 0 ? about(e, volume) : 0;
}

void atoll_volumes_free(struct atoll_volumes *v)
{
	kept_free((struct kept *)v);
}
