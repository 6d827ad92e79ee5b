/* SPDX-License-Identifier: Apache-2.0 */
/* client/dirs: lists and changes directories of a sandbox. */
#include <errno.h>
#include <string.h>

#include "client/client.h"
#include "http/json.h"

#define FILESYSTEM "/filesystem.Filesystem/"

int atoll_file_exists(struct atoll_sandbox *sb, const char *path, const char *as_user, struct atoll_error *e)
{
	NEED(e, sb && path);
	autojson json_t *body = json_pack("{s:s}", "path", path);

	if (rpc_call(sb, as_user, FILESYSTEM "Stat", body, NULL, e) == 0)
		return 1;
	return e->status == 404 ? 0 : -e->no;
}

int atoll_file_remove(struct atoll_sandbox *sb, const char *path, const char *as_user, struct atoll_error *e)
{
	NEED(e, sb && path);
	autojson json_t *body = json_pack("{s:s}", "path", path);

	if (!*path) /* it would mean the home directory */
		return client_fail(e, EINVAL, 0, "the path is empty");
	return rpc_call(sb, as_user, FILESYSTEM "Remove", body, NULL, e);
}

int atoll_file_rename(struct atoll_sandbox *sb, const char *from, const char *to, const char *as_user,
    struct atoll_error *e)
{
	NEED(e, sb && from && to);
	autojson json_t *body = json_pack("{s:s,s:s}", "source", from, "destination", to);

	return rpc_call(sb, as_user, FILESYSTEM "Move", body, NULL, e);
}

int atoll_dir_make(struct atoll_sandbox *sb, const char *path, const char *as_user, struct atoll_error *e)
{
	NEED(e, sb && path);
	autojson json_t *body = json_pack("{s:s}", "path", path);

	if (rpc_call(sb, as_user, FILESYSTEM "MakeDir", body, NULL, e) == 0)
		return 1;
	return e->status == 409 ? 0 : -e->no;
}

enum atoll_file_type client_file_type(const json_t *entry)
{
	const char *type = json_text(entry, "type");

	return strcmp(type, "FILE_TYPE_FILE") == 0     ? ATOLL_FILE
	    : strcmp(type, "FILE_TYPE_DIRECTORY") == 0 ? ATOLL_DIRECTORY
						       : ATOLL_OTHER;
}

static void fill(struct kept *k, void *item, json_t *o)
{
	struct atoll_entry *f = item;
	int64_t size = json_number(o, "size", 0);

	(void)k;
	*f = (struct atoll_entry) {
		.name = json_text(o, "name"),
		.path = json_text(o, "path"),
		.type = client_file_type(o),
		.mode = (unsigned)json_number(o, "mode", 0) & 0777,
		.size = size > 0 ? (uint64_t)size : 0,
		.permissions = json_text(o, "permissions"),
		.owner = json_text(o, "owner"),
		.group = json_text(o, "group"),
		.modified_at = json_text(o, "modifiedTime"),
		.link_target = json_text_or_null(o, "symlinkTarget"),
	};
}

int atoll_dir_list(struct atoll_sandbox *sb, const char *path, const char *as_user, unsigned depth,
    struct atoll_entries **ret, struct atoll_error *e)
{
	NEED(e, sb && path && ret);
	autojson json_t *body = json_pack("{s:s,s:I}", "path", path, "depth", (json_int_t)(depth ? depth : 1)),
			*answer = NULL;
	struct kept *k;

	if (rpc_call(sb, as_user, FILESYSTEM "ListDir", body, &answer, e) < 0)
		return -e->no;
	json_t *entries = json_object_get(answer, "entries"); /* an empty list may be omitted */
	if (kept_new(json_is_array(entries) ? json_incref(entries) : json_array(), sizeof(struct atoll_entry), fill,
		NULL, &k, e) < 0)
		return -e->no;
	*ret = &k->entries;
	return 0;
}

void atoll_entries_free(struct atoll_entries *l)
{
	kept_free((struct kept *)l);
}
