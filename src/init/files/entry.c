/* SPDX-License-Identifier: Apache-2.0 */
/* entry: the API's description of one file. */
#include "init/files/entry.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "http/json.h"
#include "init/files/meta.h"
#include "init/files/path.h"
#include "init/text.h"
#include "init/users.h"

#define DIR_SIZE 4096 /* btrfs reports 0 for a directory, which clients take as "missing" */

static const char *type_name(mode_t mode)
{
	if (S_ISREG(mode))
		return "FILE_TYPE_FILE";
	if (S_ISDIR(mode))
		return "FILE_TYPE_DIRECTORY";
	return "FILE_TYPE_UNSPECIFIED";
}

static json_t *owner_name(const struct userdb *db, uid_t uid)
{
	struct str name;
	char num[16];

	if (userdb_uid_name(db, uid, &name))
		return text_json(name);
	(void)snprintf(num, sizeof(num), "%u", uid);
	return json_string(num);
}

static json_t *group_name(const struct userdb *db, gid_t gid)
{
	struct str name;
	char num[16];

	if (userdb_gid_name(db, gid, &name))
		return text_json(name);
	(void)snprintf(num, sizeof(num), "%u", gid);
	return json_string(num);
}

static void add_details(json_t *o, const char *path, const struct stat *st, mode_t mode, const struct userdb *db)
{
	char text[TEXT_TIME_SIZE], size[24];
	json_t *meta = meta_read(path);
	intmax_t bytes = S_ISDIR(st->st_mode) && st->st_size == 0 ? DIR_SIZE : (intmax_t)st->st_size;

	(void)snprintf(size, sizeof(size), "%jd", bytes);
	(void)json_object_set_new(o, "size", json_string(size)); /* int64 is a string in protobuf's JSON */
	(void)json_object_set_new(o, "mode", json_integer(mode & 0777));
	text_mode(st->st_mode, text);
	(void)json_object_set_new(o, "permissions", json_string(text));
	(void)json_object_set_new(o, "owner", owner_name(db, st->st_uid));
	(void)json_object_set_new(o, "group", group_name(db, st->st_gid));
	text_time(st->st_mtim, text);
	(void)json_object_set_new(o, "modifiedTime", json_string(text));
	if (meta)
		(void)json_object_set_new(o, "metadata", meta);
}

int entry_read(const char *path, const char *shown, const struct userdb *db, bool legacy, json_t **ret)
{
	char target[PATH_MAX];
	struct stat st, to;
	mode_t mode;
	json_t *o;

	if (lstat(path, &st) < 0)
		return -errno;
	mode = st.st_mode;
	if (S_ISLNK(st.st_mode)) {
		/* A dangling link is shown with itself as its target and without a type. */
		mode = stat(path, &to) == 0 ? to.st_mode : 0;
		if (mode == 0 || !realpath(path, target))
			(void)snprintf(target, sizeof(target), "%s", path);
	}
	o = json_object();
	if (!o)
		return -ENOMEM;
	(void)json_object_set_new(o, "name", text_json(path_base(shown)));
	(void)json_object_set_new(o, "type", json_string(type_name(mode)));
	(void)json_object_set_new(o, "path", text_json(str_of(shown)));
	if (!legacy) {
		add_details(o, path, &st, mode, db);
		if (S_ISLNK(st.st_mode))
			(void)json_object_set_new(o, "symlinkTarget", text_json(str_of(target)));
	}
	*ret = o;
	return 0;
}
