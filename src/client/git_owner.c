/* SPDX-License-Identifier: Apache-2.0 */
/* client/git_owner: repairs repositories that both code (as root) and commands (as the template's user) wrote to.
 *
 * Git refuses to work in a repository of another user, and cannot write objects owned by another. Inside a sandbox
 * this protects nothing, because the user may become root. So the files are given to the user; root can write to them
 * anyway. */
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "client/git.h"

#define REPAIR_MS 60000

static bool is_about_owner(const char *text)
{
	static const char *const signs[] = { "dubious ownership", "insufficient permission", "Permission denied",
		"unsafe repository" };

	for (size_t i = 0; i < ARRAY_LEN(signs); i++) {
		if (strstr(text, signs[i]))
			return true;
	}
	return false;
}

/* True for paths below the usual working directories. System directories are never changed. */
static bool is_place_of_work(struct str path)
{
	static const char *const places[] = { "/home/", "/workspace/", "/tmp/", "/var/tmp/", "/code/", "/mnt/", "/srv/",
		"/opt/", "/root/" };

	for (size_t i = 0; i < ARRAY_LEN(places); i++) {
		if (str_starts(path, places[i]))
			return true;
	}
	return false;
}

/* Returns "UID:GID" of the user that git runs as. */
static char *user_of(struct atoll_sandbox *sb)
{
	const char *const argv[] = { "/bin/sh", "-c", "printf %s:%s \"$(id -u)\" \"$(id -g)\"", NULL };
	struct atoll_output *o = NULL;
	struct atoll_error e;
	bool ok = atoll_command_run(sb, &(struct atoll_command) { .argv = argv, .timeout_ms = REPAIR_MS }, NULL, NULL,
		      &o, &e) == 0 &&
	    o->exit.code == 0;
	char *ret = ok && o->n_out > 0 && strspn(o->out, "0123456789:") == o->n_out
	    ? str_dup((struct str) { o->out, o->n_out })
	    : NULL;

	atoll_output_free(o);
	return ret;
}

static char *path_of(struct atoll_sandbox *sb, const char *dir)
{
	const char *const argv[] = { "/bin/sh", "-c", "realpath -z -- \"$1\"", "sh", dir, NULL };
	struct atoll_output *o = NULL;
	struct atoll_error e;
	bool ok = atoll_command_run(sb, &(struct atoll_command) { .argv = argv, .timeout_ms = REPAIR_MS }, NULL, NULL,
		      &o, &e) == 0 &&
	    o->exit.code == 0;
	char *ret = ok && o->n_out > 1 ? str_dup((struct str) { o->out, o->n_out - 1 }) : NULL;

	atoll_output_free(o);
	return ret;
}

bool git_repair_owner(struct atoll_sandbox *sb, const struct atoll_git *g, const struct atoll_output *o)
{
	static const char script[] = "find \"$1\" -xdev ! -user \"${2%:*}\" -exec chown -h -- \"$2\" {} +";

	if (g->as_user || !g->dir || !is_about_owner(o->err) || strstr(o->err, "Permission denied ("))
		return false;
	autofree char *user = user_of(sb), *path = user ? path_of(sb, g->dir) : NULL;

	if (!path || !is_place_of_work(str_of(path)))
		return false;
	const char *const argv[] = { "/bin/sh", "-c", script, "sh", path, user, NULL };
	struct atoll_output *out = NULL;
	struct atoll_error e;
	bool ok = atoll_command_run(sb,
		      &(struct atoll_command) { .argv = argv, .as_user = "root", .timeout_ms = REPAIR_MS }, NULL, NULL,
		      &out, &e) == 0 &&
	    out->exit.code == 0;

	atoll_output_free(out);
	return ok;
}
