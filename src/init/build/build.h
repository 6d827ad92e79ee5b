/* SPDX-License-Identifier: Apache-2.0 */
/* build: atoll-build, what the front runs inside the sandbox of a build to work on its files.
 *
 * It is a copy of pid 1 (call.c): static, so that it works on any image, and there already. It runs as root of
 * the sandbox and has no other power; archives are unpacked by it, so whatever is in them meets the sandbox's walls and
 * quota.
 *
 *	facts				JSON of what steps start from: variables, homes, defaults
 *	provision			makes of a bare image what sandboxes need: the user, his home
 *	user NAME [true]		makes the account if there is none; true: who may use sudo
 *	workdir DIR USER		makes the directory
 *	copy ARCHIVE SOURCE DEST CWD OWNER MODE
 *	defaults JSON			what sandboxes of the template begin with
 *	start SECONDS			runs the start command and waits until it is ready, so long at most
 *
 * An error is one line on standard error and exit code 1. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"

struct http_req;
struct init;

void build_serve(struct init *in, struct http_req *rq);       /* POST /atoll/build */
int build_main(const struct init *in, int argc, char **argv); /* in the child; 0 or 1 */

/* user.c */
struct owner {
	uid_t uid;
	gid_t gid;
};
int build_owner(const char *text, struct owner *ret, struct err *e); /* "user", "user:group", or numbers; -ENOENT */
int build_add_user(const char *name, bool sudo, struct err *e);
int build_provision(struct err *e);
int build_mkdirs(const char *path, const struct owner *o, struct err *e); /* those that are missing belong to o */

int build_start(const struct init *in, unsigned wait_s, struct err *e); /* start.c */

/* unpack.c */
/* tar, or tar in gzip; removed as soon as it is open */
int build_unpack(const char *archive, int root_fd, struct err *e);

/* copy.c */
struct copy_args {
	const char *archive, *source, *dest, *cwd, *owner, *mode;
};
int build_copy(const struct copy_args *a, struct err *e);

/* The part of a pattern that is a path: "a/b*" is "a". */
void build_pattern_dir(const char *pattern, char *ret, size_t size);
