/* SPDX-License-Identifier: Apache-2.0 */
/* fs_rpc: the filesystem.Filesystem calls that read and change files.
 *
 * They run with the privileges of the sandbox's root; what they create is owned by the user of the call. */
#include "init/files/fs_rpc.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "http/json.h"
#include "init/call.h"
#include "init/files/dirs.h"
#include "init/files/entry.h"
#include "init/files/path.h"
#include "init/init.h"
#include "init/text.h"
#include "loop/loop.h"

#define LIST_ENTRIES_MAX 200000
#define REMOVE_PER_STEP 256 /* entries; about a millisecond */

static bool missing(int no)
{
	return no == ENOENT || no == ENOTDIR;
}

static void reply_entry(struct call *c, const char *path)
{
	autojson json_t *reply = json_object();
	json_t *entry;
	int rc = entry_read(path, path, &c->users, call_legacy(c), &entry);

	if (rc < 0) {
		if (missing(-rc))
			call_fail(c, CONNECT_NOT_FOUND, "file not found: lstat %s: %s", path, text_errno(-rc));
		else
			call_fail(c, CONNECT_INTERNAL, "error getting file info: lstat %s: %s", path, text_errno(-rc));
		return;
	}
	(void)json_object_set_new(reply, "entry", entry);
	call_reply(c, reply);
}

void fs_stat(struct call *c, json_t *msg)
{
	autofree char *path = NULL;

	if (call_path(c, msg, "path", &path) == 0)
		reply_entry(c, path);
}

static int ensure_dirs(struct call *c, const char *path)
{
	autofree char *at = NULL;
	int rc = dirs_ensure(path, c->user.uid, c->user.gid, &at);

	if (rc == -ENOTDIR)
		call_fail(c, CONNECT_INTERNAL, "path is a file: %s", at ? at : path);
	else if (rc < 0)
		call_fail(c, CONNECT_INTERNAL, "failed to create directory: mkdir %s: %s", at ? at : path,
		    text_errno(-rc));
	return rc;
}

void fs_make_dir(struct call *c, json_t *msg)
{
	autofree char *path = NULL;
	struct stat st;

	if (call_path(c, msg, "path", &path) < 0)
		return;
	if (stat(path, &st) == 0) {
		if (S_ISDIR(st.st_mode))
			call_fail(c, CONNECT_ALREADY_EXISTS, "directory already exists: %s", path);
		else
			call_fail(c, CONNECT_INVALID_ARGUMENT, "path already exists but it is not a directory: %s",
			    path);
		return;
	}
	if (errno == ENOTDIR || errno == ENAMETOOLONG) {
		call_fail(c, CONNECT_INVALID_ARGUMENT, "error getting file info: stat %s: %s", path, text_errno(errno));
		return;
	}
	if (errno != ENOENT) {
		call_fail(c, CONNECT_INTERNAL, "error getting file info: stat %s: %s", path, text_errno(errno));
		return;
	}
	if (ensure_dirs(c, path) == 0)
		reply_entry(c, path);
}

void fs_move(struct call *c, json_t *msg)
{
	autofree char *from = NULL, *to = NULL, *dir = NULL;
	struct stat st;

	if (call_path(c, msg, "source", &from) < 0 || call_path(c, msg, "destination", &to) < 0)
		return;
	/* Checked first, so that a wrong source leaves no new directories behind. */
	if (lstat(from, &st) < 0 && missing(errno)) {
		call_fail(c, CONNECT_NOT_FOUND, "source file not found: rename %s %s: %s", from, to, text_errno(errno));
		return;
	}
	dir = path_dir(to);
	if (!dir || ensure_dirs(c, dir) < 0)
		return;
	if (rename(from, to) < 0) {
		if (errno == ENOENT)
			call_fail(c, CONNECT_NOT_FOUND, "source file not found: rename %s %s: %s", from, to,
			    text_errno(errno));
		else
			call_fail(c, CONNECT_INTERNAL, "error renaming: rename %s %s: %s", from, to, text_errno(errno));
		return;
	}
	reply_entry(c, to);
}

/* Listing. */

struct listing {
	struct call *c;
	const char *root, *shown;
	struct call_list reply;
};

static int list_one(void *user, const char *rel)
{
	struct listing *l = user;
	autofree char *path = str_fmt("%s/%s", l->root, rel), *shown = path_join(l->shown, rel);
	autojson json_t *entry = NULL;
	int rc;

	if (!path || !shown)
		return -ENOMEM;
	rc = entry_read(path, shown, &l->c->users, call_legacy(l->c), &entry);
	if (rc < 0)
		return missing(-rc) ? 0 : rc;
	return l->reply.n >= LIST_ENTRIES_MAX ? -E2BIG : call_list_add(&l->reply, entry);
}

/* Resolves path to the directory it refers to. 0, or the call has failed. */
static int real_dir(struct call *c, const char *path, char resolved[PATH_MAX])
{
	struct stat st;

	if (!realpath(path, resolved)) {
		int no = errno;

		if (no == ELOOP)
			call_fail(c, CONNECT_FAILED_PRECONDITION, "cyclic symlink or chain >255 links at \"%s\"", path);
		else if (no == ENOENT)
			call_fail(c, CONNECT_NOT_FOUND, "path not found: lstat %s: %s", path, text_errno(no));
		else if (no == ENOTDIR || no == ENAMETOOLONG)
			call_fail(c, CONNECT_INVALID_ARGUMENT, "error resolving path %s: %s", path, text_errno(no));
		else
			call_fail(c, CONNECT_INTERNAL, "error resolving symlink: %s", text_errno(no));
		return -no;
	}
	if (stat(resolved, &st) < 0) {
		call_fail(c, CONNECT_NOT_FOUND, "directory not found: stat %s: %s", resolved, text_errno(errno));
		return -ENOENT;
	}
	if (!S_ISDIR(st.st_mode)) {
		call_fail(c, CONNECT_INVALID_ARGUMENT, "path is not a directory: %s", resolved);
		return -ENOTDIR;
	}
	return 0;
}

void fs_list_dir(struct call *c, json_t *msg)
{
	autofree char *path = NULL;
	char resolved[PATH_MAX];
	struct err e = ERR_INIT;
	int64_t depth = 0;
	int rc;

	if (json_get_int(msg, "depth", 0, UINT32_MAX, &depth, &e) < 0) {
		call_fail(c, CONNECT_INVALID_ARGUMENT, "%s", e.text);
		return;
	}
	if (call_path(c, msg, "path", &path) < 0 || real_dir(c, path, resolved) < 0)
		return;
	struct listing l = { .c = c, .root = resolved, .shown = path };

	call_list_begin(&l.reply, c, "entries");
	rc = dirs_walk(resolved, depth ? (unsigned)depth : 1, list_one, &l);
	if (rc == -E2BIG)
		call_fail(c, CONNECT_RESOURCE_EXHAUSTED, "directory %s has too many entries to list at once", resolved);
	else if (rc == -ENAMETOOLONG)
		call_fail(c, CONNECT_INVALID_ARGUMENT,
		    "directory %s has entries whose paths are longer than %d bytes, which cannot be named:"
		    " list it with a smaller depth",
		    resolved, PATH_MAX - 1);
	else if (rc < 0)
		call_fail(c, CONNECT_INTERNAL, "error reading directory %s: %s", resolved, text_errno(-rc));
	else
		call_list_reply(&l.reply);
	call_list_done(&l.reply);
}

/* Removing: one step per loop iteration, so that a large tree does not block other requests. It continues after
 * the client has disconnected. */

struct removal {
	struct call *c; /* NULL: the client has disconnected */
	struct remover *r;
	struct loop *loop;
};

static void removal_end(struct removal *m, int rc)
{
	if (m->c) {
		m->c->on_gone = NULL;
		if (rc < 0)
			call_fail(m->c, CONNECT_INTERNAL, "error removing file or directory: %s", text_errno(-rc));
		else
			call_reply_empty(m->c);
	}
	remover_free(m->r);
	free(m);
}

static void removal_step(void *user)
{
	struct removal *m = user;
	int rc = remover_step(m->r, REMOVE_PER_STEP);

	if (rc > 0)
		loop_defer(m->loop, removal_step, m);
	else
		removal_end(m, rc);
}

static void on_removal_gone(struct call *c)
{
	((struct removal *)c->state)->c = NULL;
}

void fs_remove(struct call *c, json_t *msg)
{
	autofree char *path = NULL;
	struct remover *r = NULL;
	struct removal *m;
	int rc;

	if (call_path(c, msg, "path", &path) < 0)
		return;
	rc = remover_new(path, &r);
	if (rc == -ENOENT) {
		call_reply_empty(c);
		return;
	}
	if (rc < 0) {
		call_fail(c, rc == -EINVAL ? CONNECT_INVALID_ARGUMENT : CONNECT_INTERNAL,
		    "error removing file or directory: unlinkat %s: %s", path, text_errno(-rc));
		return;
	}
	m = calloc(1, sizeof(*m));
	if (!m) {
		remover_free(r);
		call_fail(c, CONNECT_INTERNAL, "out of memory");
		return;
	}
	m->c = c;
	m->r = r;
	m->loop = c->in->loop;
	c->state = m;
	c->on_gone = on_removal_gone;
	removal_step(m);
}
