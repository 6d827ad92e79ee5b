/* SPDX-License-Identifier: Apache-2.0 */
/* mcp/tools_files: files in the sandbox: text as text, everything else as base64. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/str.h"
#include "http/json.h"
#include "mcp/tools.h"

#define READ_MAX (8u * 1024 * 1024)
static const char *image_type(const char *p, size_t n)
{
	if (n > 8 && memcmp(p, "\x89PNG\r\n\x1a\n", 8) == 0)
		return "image/png";
	if (n > 3 && memcmp(p, "\xff\xd8\xff", 3) == 0)
		return "image/jpeg";
	if (n > 6 && (memcmp(p, "GIF87a", 6) == 0 || memcmp(p, "GIF89a", 6) == 0))
		return "image/gif";
	return n > 12 && memcmp(p, "RIFF", 4) == 0 && memcmp(p + 8, "WEBP", 4) == 0 ? "image/webp" : NULL;
}

static void show_bytes(struct tool_run *r, const char *path, const char *p, size_t n)
{
	autobuf struct buf b = BUF_INIT(READ_MAX * 2);
	const char *image = image_type(p, n);

	base64_encode(&b, (struct str) { p, n }, true);
	const char *text = buf_cstr(&b);

	run_set(r, "encoding", json_string("base64"));
	if (image) {
		run_image(r, image, text ? text : "");
	} else {
		autofree char *uri = str_fmt("file://%s", path);

		json_array_append_new(r->content,
		    json_pack("{s:s,s:{s:s,s:s,s:s}}", "type", "resource", "resource", "uri",
			uri ? uri : "file:", "mimeType", "application/octet-stream", "blob", text ? text : ""));
	}
}

static void read_path(struct tool_run *r, const char *path)
{
	size_t max = (size_t)run_int(r, "max_bytes", READ_MAX), n;
	char *p;
	struct atoll_error e;

	if (!run_may_file(r, "read", path) || !run_sandbox(r))
		return;
	if (atoll_file_get(r->sandbox->sb, path, run_some(r, "user"), max, &p, &n, &e) < 0) {
		(void)run_failed(r, &e);
		return;
	}
	json_t *text = memchr(p, '\0', n) ? NULL : json_stringn(p, n); /* NULL: binary */

	run_set(r, "path", json_string(path));
	run_set(r, "size", json_integer((json_int_t)n));
	if (text) {
		run_set(r, "encoding", json_string("utf-8"));
		json_array_append_new(r->content, json_pack("{s:s,s:o}", "type", "text", "text", text));
	} else {
		show_bytes(r, path, p, n);
	}
	free(p);
}

static void read_file(struct tool_run *r)
{
	read_path(r, run_str(r, "path"));
}

static void write_path(struct tool_run *r, const char *path)
{
	const char *content = run_str(r, "content"), *encoding = run_str(r, "encoding");
	autobuf struct buf raw = BUF_INIT(READ_MAX * 2);
	struct str data = str_of(content);
	struct atoll_error e;

	if (!content) {
		run_refuse(r, "argument 'content' is missing");
		return;
	}
	if (encoding && strcmp(encoding, "base64") == 0) {
		if (base64_decode(data, &raw) < 0 || raw.bad) {
			run_refuse(r, "argument 'content' is not valid base64");
			return;
		}
		data = buf_view(&raw);
	}
	if (!run_may_file(r, "write", path) || !run_sandbox(r))
		return;
	if (atoll_file_put(r->sandbox->sb, path, run_some(r, "user"), data.n ? data.p : "", data.n, &e) < 0) {
		(void)run_failed(r, &e);
		return;
	}
	run_say(r, "Wrote %zu bytes to %s", data.n, path);
	run_set(r, "path", json_string(path));
	run_set(r, "size", json_integer((json_int_t)data.n));
}

static void write_file(struct tool_run *r)
{
	write_path(r, run_str(r, "path"));
}

static void list_path(struct tool_run *r, const char *path)
{
	static const char
	    *const types[] = { [ATOLL_FILE] = "file", [ATOLL_DIRECTORY] = "directory", [ATOLL_OTHER] = "other" };
	struct atoll_entries *l;
	struct atoll_error e;

	if (!run_may_file(r, "list", path) || !run_sandbox(r))
		return;
	if (atoll_dir_list(r->sandbox->sb, path, run_some(r, "user"), (unsigned)run_int(r, "depth", 1), &l, &e) < 0) {
		(void)run_failed(r, &e);
		return;
	}
	autobuf struct buf text = BUF_INIT(4u * 1024 * 1024);
	json_t *list = json_array();

	for (size_t i = 0; i < l->n; i++) {
		const struct atoll_entry *f = &l->v[i];

		buf_fmt(&text, "%s %10llu %s%s\n", f->permissions, (unsigned long long)f->size, f->path,
		    f->type == ATOLL_DIRECTORY ? "/" : "");
		json_array_append_new(list,
		    json_pack("{s:o,s:o,s:s,s:I}", "name", run_string(f->name, strlen(f->name)), "path",
			run_string(f->path, strlen(f->path)), "type", types[f->type], "size", (json_int_t)f->size));
	}
	if (l->n == 0)
		run_say(r, "(empty)");
	else
		run_text(r, text.p, text.n);
	run_set(r, "entries", list);
	atoll_entries_free(l);
}

static void list_files(struct tool_run *r)
{
	const char *path = run_str(r, "path");

	list_path(r, path ? path : ".");
}

/* Upload, download and list as one tool, for agents that expect it. */
static void file_operations(struct tool_run *r)
{
	const char *operation = run_str(r, "operation"), *path = run_str(r, "path");

	if (strcmp(operation, "upload") == 0)
		write_path(r, path);
	else if (strcmp(operation, "download") == 0)
		read_path(r, path);
	else
		list_path(r, path);
}

const struct tool_handler tools_files[] = {
	{ "read_file", read_file, .seeks = SEEKS_PATH },
	{ "write_file", write_file, .seeks = SEEKS_PATH },
	{ "list_files", list_files, .seeks = SEEKS_PATH },
	{ "fileOperations", file_operations, .seeks = SEEKS_PATH },
	{ NULL },
};
