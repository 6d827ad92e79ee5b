/* SPDX-License-Identifier: Apache-2.0 */
/* client/mock/files: the files of a mock sandbox, and the events of their changes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "client/mock/state.h"
#include "http/json.h"
#include "http/url.h"

#define HOME "/home/user"

void mock_path(const char *path, struct buf *out)
{
	if (strncmp(path, "~/", 2) == 0)
		path += 2;
	if (*path != '/')
		buf_z(out, *path && strcmp(path, "~") != 0 ? HOME "/" : HOME);
	if (strcmp(path, "~") != 0)
		buf_z(out, path);
	while (out->n > 1 && out->p[out->n - 1] == '/')
		out->n--;
	(void)buf_cstr(out);
}

json_t *mock_file(struct mock_sandbox *sb, const char *path)
{
	return json_object_get(sb->files, path);
}

static bool is_dir(const json_t *f)
{
	return json_is_true(json_object_get(f, "dir"));
}

static void tell(struct mock_sandbox *sb, const char *path, const char *type)
{
	(void)json_array_append_new(sb->changes, json_pack("{s:s,s:s}", "path", path, "type", type));
	(void)pthread_cond_broadcast(&sb->m->changed);
}

static const char *name_of(const char *path)
{
	return strrchr(path, '/') + 1;
}

static void make_parents(struct mock_sandbox *sb, const char *path)
{
	for (const char *at = strchr(path + 1, '/'); at; at = strchr(at + 1, '/')) {
		autofree char *dir = str_dup((struct str) { path, (size_t)(at - path) });

		if (dir && !mock_file(sb, dir)) {
			(void)json_object_set_new(sb->files, dir, json_pack("{s:b}", "dir", 1));
			tell(sb, dir, "EVENT_TYPE_CREATE");
		}
	}
}

static json_t *entry(struct mock_sandbox *sb, const char *path)
{
	const json_t *f = mock_file(sb, path);
	bool dir = is_dir(f);

	return json_pack("{s:s,s:s,s:s,s:I,s:i,s:s,s:s,s:s,s:s}", "name", name_of(path), "path", path, "type",
	    dir ? "FILE_TYPE_DIRECTORY" : "FILE_TYPE_FILE", "size",
	    (json_int_t)json_string_length(json_object_get(f, "data")), "mode", dir ? 0755 : 0644, "permissions",
	    dir ? "drwxr-xr-x" : "-rw-r--r--", "owner", "user", "group", "user", "modifiedTime",
	    "1970-01-01T00:00:00Z");
}

/* --- content --- */

static void get_content(struct mock_call *c, struct mock_sandbox *sb, const char *path)
{
	const json_t *f = mock_file(sb, path), *data = json_object_get(f, "data");

	if (!f) {
		mock_refuse(c, 404, "path '%s' does not exist", path);
	} else if (is_dir(f)) {
		mock_refuse(c, 400, "path '%s' is a directory", path);
	} else {
		c->status = 200;
		c->type = "application/octet-stream";
		buf_put(&c->answer, json_string_value(data), json_string_length(data));
	}
}

static void put_content(struct mock_call *c, struct mock_sandbox *sb, const char *path)
{
	const json_t *f = mock_file(sb, path);

	if (is_dir(f)) {
		mock_refuse(c, 400, "path '%s' is a directory", path);
		return;
	}
	bool is_new = !f;

	make_parents(sb, path);
	(void)json_object_set_new(sb->files, path,
	    json_pack("{s:b,s:o}", "dir", 0, "data", json_stringn_nocheck(c->body.n ? c->body.p : "", c->body.n)));
	if (is_new)
		tell(sb, path, "EVENT_TYPE_CREATE");
	tell(sb, path, "EVENT_TYPE_WRITE");
	mock_json(c, 200, json_pack("[{s:s,s:s,s:s}]", "name", name_of(path), "path", path, "type", "file"));
}

/* --- calls --- */

static bool is_below(const char *path, const char *dir)
{
	size_t n = strcmp(dir, "/") == 0 ? 0 : strlen(dir);

	return strncmp(path, dir, n) == 0 && path[n] == '/' && path[n + 1];
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Returns all paths below a directory, sorted. The caller frees the array. */
static const char **below(struct mock_sandbox *sb, const char *dir, size_t *ret_n)
{
	const char **all = calloc(json_object_size(sb->files) + 1, sizeof(*all)), *path;
	json_t *f;

	*ret_n = 0;
	json_object_foreach(sb->files, path, f)
	{
		if (all && is_below(path, dir))
			all[(*ret_n)++] = path;
	}
	if (all)
		qsort(all, *ret_n, sizeof(*all), by_name);
	return all;
}

static void list_dir(struct mock_call *c, struct mock_sandbox *sb, const char *path)
{
	json_int_t depth = json_integer_value(json_object_get(c->json, "depth"));
	json_t *entries = json_array();
	size_t n;
	autofree const char **all = below(sb, path, &n);

	for (size_t i = 0; all && i < n; i++) {
		json_int_t level = 1;

		for (const char *p = all[i] + strlen(strcmp(path, "/") == 0 ? "" : path) + 1; *p; p++)
			level += *p == '/';
		if (level <= (depth ? depth : 1))
			(void)json_array_append_new(entries, entry(sb, all[i]));
	}
	mock_json(c, 200, json_pack("{s:o}", "entries", entries));
}

static void remove_all(struct mock_call *c, struct mock_sandbox *sb, const char *path)
{
	size_t n;
	autofree const char **all = below(sb, path, &n);

	for (size_t i = 0; all && i < n; i++) {
		tell(sb, all[i], "EVENT_TYPE_REMOVE");
		(void)json_object_del(sb->files, all[i]);
	}
	if (mock_file(sb, path)) {
		tell(sb, path, "EVENT_TYPE_REMOVE");
		(void)json_object_del(sb->files, path);
	}
	mock_json(c, 200, json_object());
}

static void make_dir(struct mock_call *c, struct mock_sandbox *sb, const char *path)
{
	const json_t *f = mock_file(sb, path);

	if (f && is_dir(f)) {
		mock_rpc_refuse(c, 409, "already_exists", "directory '%s' already exists", path);
	} else if (f) {
		mock_rpc_refuse(c, 400, "invalid_argument", "'%s' is a file", path);
	} else {
		make_parents(sb, path);
		(void)json_object_set_new(sb->files, path, json_pack("{s:b}", "dir", 1));
		tell(sb, path, "EVENT_TYPE_CREATE");
		mock_json(c, 200, json_pack("{s:o}", "entry", entry(sb, path)));
	}
}

static void move(struct mock_call *c, struct mock_sandbox *sb)
{
	autobuf struct buf from = BUF_INIT(8192), to = BUF_INIT(8192);
	const char *source = json_string_value(json_object_get(c->json, "source")),
		   *target = json_string_value(json_object_get(c->json, "destination"));

	mock_path(source ? source : "", &from);
	mock_path(target ? target : "", &to);
	if (!mock_file(sb, buf_cstr(&from))) {
		mock_rpc_refuse(c, 404, "not_found", "path '%s' does not exist", buf_cstr(&from));
		return;
	}
	size_t n;
	autofree const char **all = below(sb, buf_cstr(&from), &n);

	make_parents(sb, buf_cstr(&to));
	for (size_t i = 0; all && i < n; i++) {
		autofree char *moved = str_fmt("%s%s", buf_cstr(&to), all[i] + from.n);

		(void)json_object_set(sb->files, moved ? moved : "/tmp", mock_file(sb, all[i]));
		(void)json_object_del(sb->files, all[i]);
	}
	(void)json_object_set(sb->files, buf_cstr(&to), mock_file(sb, buf_cstr(&from)));
	(void)json_object_del(sb->files, buf_cstr(&from));
	tell(sb, buf_cstr(&from), "EVENT_TYPE_RENAME");
	tell(sb, buf_cstr(&to), "EVENT_TYPE_CREATE");
	mock_json(c, 200, json_pack("{s:o}", "entry", entry(sb, buf_cstr(&to))));
}

static bool content(struct mock_call *c, struct mock_sandbox *sb)
{
	autofree char *given = NULL;
	autobuf struct buf path = BUF_INIT(8192);

	if (strcmp(c->path, "/files") != 0)
		return false;
	if (query_get(str_of(c->query), "path", &given) < 0) {
		mock_refuse(c, 400, "a path is required");
		return true;
	}
	mock_path(given, &path);
	if (strcmp(c->method, "GET") == 0)
		get_content(c, sb, buf_cstr(&path));
	else
		put_content(c, sb, buf_cstr(&path));
	return true;
}

bool mock_files(struct mock_call *c, struct mock_sandbox *sb)
{
	static const char prefix[] = "/filesystem.Filesystem/";
	const char *given = json_string_value(json_object_get(c->json, "path")), *what = c->path + sizeof(prefix) - 1;
	autobuf struct buf b = BUF_INIT(8192);

	if (content(c, sb))
		return true;
	if (strncmp(c->path, prefix, sizeof(prefix) - 1) != 0)
		return false;
	mock_path(given ? given : "", &b);
	const char *path = buf_cstr(&b);
	const json_t *f = mock_file(sb, path);

	if (strcmp(what, "MakeDir") == 0)
		make_dir(c, sb, path);
	else if (strcmp(what, "Move") == 0)
		move(c, sb);
	else if (strcmp(what, "Remove") == 0)
		remove_all(c, sb, path);
	else if (strcmp(what, "Stat") != 0 && strcmp(what, "ListDir") != 0)
		return false;
	else if (!f)
		mock_rpc_refuse(c, 404, "not_found", "path '%s' does not exist", path);
	else if (strcmp(what, "Stat") == 0)
		mock_json(c, 200, json_pack("{s:o}", "entry", entry(sb, path)));
	else if (!is_dir(f))
		mock_rpc_refuse(c, 400, "invalid_argument", "path '%s' is not a directory", path);
	else
		list_dir(c, sb, path);
	return true;
}
