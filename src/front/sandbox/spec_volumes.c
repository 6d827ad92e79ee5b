/* SPDX-License-Identifier: Apache-2.0 */
/* front/sandbox/spec_volumes: which volumes a sandbox mounts, and where. */
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/fd.h"
#include "front/link/saved.h"
#include "front/sandbox/sandboxes.h"
#include "front/sandbox/spec.h"
#include "front/sandbox/volumes.h"
#include "front/util/mem.h"
#include "http/json.h"
#include "ipc/check.h"

#define TEXT_MAX (64 * 1024)

static const char *member(const json_t *o, const char *name)
{
	return json_string_value(json_object_get(o, name));
}

static int by_length(const void *a, const void *b)
{
	const char *x = member(*(json_t *const *)a, "path"), *y = member(*(json_t *const *)b, "path");
	size_t n = strlen(x), m = strlen(y);

	return n != m ? (n < m ? -1 : 1) : strcmp(x, y);
}

/* Parent directories are mounted first. */
static json_t *sorted(json_t *all)
{
	size_t n = json_array_size(all);
	json_t *v[MOUNTS_MAX], *out = json_array();

	for (size_t i = 0; i < n; i++)
		v[i] = json_array_get(all, i);
	qsort(v, n, sizeof(json_t *), by_length);
	for (size_t i = 0; i < n; i++)
		(void)json_array_append(out, v[i]);
	json_decref(all);
	return out;
}

static int parse_one(const struct sandboxes *all, const char *team, const json_t *item, size_t i, json_t *list,
    struct err *e)
{
	const char *name = NULL, *path = NULL;
	size_t k;
	json_t *other;

	if (!json_is_object(item))
		return err_set(e, EINVAL, "field 'volumeMounts' must be a list of objects with name and path");
	if (json_need_str(item, "name", &name, e) < 0 || json_need_str(item, "path", &path, e) < 0)
		return err_wrap(e, "field 'volumeMounts', entry %zu", i);
	const struct volume *v = volume_find(all, team, name);

	if (!v || strcmp(v->name, name) != 0)
		return err_set(e, EINVAL, "field 'volumeMounts', entry %zu: volume '%.130s' not found", i, name);
	if (!check_mount_path(path))
		return err_set(e, EINVAL,
		    "field 'volumeMounts', entry %zu: path '%.100s' must be absolute, without '.', '..', '//' and a "
		    "'/' at its end, of at "
		    "most %d bytes without control characters and [ ] \\, and not /, /proc, /sys, /dev or below those",
		    i, path, MOUNT_PATH_SIZE - 1);
	json_array_foreach(list, k, other)
	{
		if (strcmp(member(other, "path"), path) == 0)
			return err_set(e, EINVAL, "field 'volumeMounts', entry %zu: path '%.100s' is already used", i,
			    path);
	}
	(void)json_array_append_new(list, json_pack("{s:s,s:s,s:s}", "id", v->id, "name", v->name, "path", path));
	return 0;
}

/* Restored memory continues with the mounts that it had. */
static int check_kept(const struct spec *sp, const json_t *given, struct err *e)
{
	if (sp->from[0] && sp->from_what & SAVED_MEMORY && !json_equal(sp->volumes, given))
		return err_set(e, EINVAL,
		    "field 'volumeMounts' must not be given with a snapshot that has memory, or be the same as that of "
		    "its sandbox");
	return 0;
}

/* A volume of a snapshot may have been deleted since. */
static int check_there(const struct sandboxes *all, const struct spec *sp, struct err *e)
{
	json_t *item;
	size_t i;

	json_array_foreach(sp->volumes, i, item)
	{
		if (!volume_by_id(all, str_of(member(item, "id"))))
			return err_set(e, EINVAL,
			    "field 'templateID': the snapshot has volume '%s' mounted, which has been deleted",
			    member(item, "name"));
	}
	return 0;
}

int spec_volumes(const struct sandboxes *all, const char *team, const json_t *body, struct spec *sp, struct err *e)
{
	json_t *given = NULL, *item, *list;
	size_t i;

	if (json_get_arr(body, "volumeMounts", &given, e) < 0)
		return -e->no;
	if (!given || json_array_size(given) == 0)
		return check_there(all, sp, e);
	if (json_array_size(given) > MOUNTS_MAX)
		return err_set(e, EINVAL, "field 'volumeMounts' must have at most %d entries", MOUNTS_MAX);
	list = json_array();
	json_array_foreach(given, i, item)
	{
		if (parse_one(all, team, item, i, list, e) < 0) {
			json_decref(list);
			return -e->no;
		}
	}
	list = sorted(list);
	if (check_kept(sp, list, e) < 0) {
		json_decref(list);
		return -e->no;
	}
	json_decref(sp->volumes);
	sp->volumes = list;
	return 0;
}

int spec_volumes_load(const char *text, struct spec *sp)
{
	json_t *all = text ? json_loads(text, 0, NULL) : NULL, *item;
	bool good = json_is_array(all) && json_array_size(all) > 0 && json_array_size(all) <= MOUNTS_MAX;
	size_t i;

	if (!text)
		return 0;
	json_array_foreach(all, i, item)
	{
		const char *id = member(item, "id"), *path = member(item, "path");
		char z[ID_SIZE] = "";

		good = good && id && path && member(item, "name") && str_copy(z, sizeof z, str_of(id)) && check_id(z) &&
		    check_mount_path(path);
	}
	if (!good) {
		json_decref(all);
		return -EINVAL;
	}
	sp->volumes = all;
	return 0;
}

char *spec_volumes_text(const struct spec *sp)
{
	autobuf struct buf out = BUF_INIT(TEXT_MAX);

	if (!sp->volumes)
		return NULL;
	json_put(&out, sp->volumes);
	return must_dup_str(buf_view(&out));
}

json_t *spec_volumes_shown(const struct spec *sp)
{
	json_t *all = json_array(), *item;
	size_t i;

	json_array_foreach(sp->volumes, i, item)(void) json_array_append_new(all,
	    json_pack("{s:s,s:s}", "name", member(item, "name"), "path", member(item, "path")));
	return all;
}

uint32_t spec_put_mounts(const struct spec *sp, struct buf *out)
{
	json_t *item;
	size_t i;

	json_array_foreach(sp->volumes, i, item)
	{
		struct msg_mount m = { 0 };

		(void)str_copy(m.name, sizeof m.name, str_of(member(item, "id")));
		(void)str_copy(m.path, sizeof m.path, str_of(member(item, "path")));
		buf_put(out, &m, sizeof m);
	}
	return (uint32_t)json_array_size(sp->volumes);
}

bool spec_has_volume(const struct spec *sp, const char *id)
{
	json_t *item;
	size_t i;

	json_array_foreach(sp->volumes, i, item)
	{
		if (strcmp(member(item, "id"), id) == 0)
			return true;
	}
	return false;
}
