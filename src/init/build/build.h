/* SPDX-License-Identifier: Apache-2.0 */
/* build: atoll-build, which the front runs inside the sandbox of a build to change its files.
 *
 * It is a fork of pid 1 (call.c): static, so it works on any image, and already present. It runs as root of the sandbox
 * without other privileges. Archives are unpacked by it, so their contents are subject to the sandbox's isolation and
 * quota.
 *
 *	facts				prints as JSON what steps start from: variables, homes, defaults
 *	provision			adds to a bare image what sandboxes need: the user and its home
 *	user NAME [true]		creates the account if it is missing; true: it may use sudo
 *	workdir DIR USER		creates the directory
 *	copy ARCHIVE SOURCE DEST CWD OWNER MODE
 *	defaults JSON			sets what sandboxes of the template start with
 *	start SECONDS			runs the start command and waits until it is ready, for SECONDS at most
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
int build_owner(const char *text, struct owner *ret, struct err *e); /* "user", "user:group", or ids; -ENOENT */
int build_add_user(const char *name, bool sudo, struct err *e);
int build_provision(struct err *e);
int build_mkdirs(const char *path, const struct owner *o, struct err *e); /* new directories get owner o */

int build_start(const struct init *in, unsigned wait_s, struct err *e); /* start.c */

/* unpack.c */
/* Unpacks a tar archive, plain or gzip-compressed; unlinks it as soon as it is open. */
int build_unpack(const char *archive, int root_fd, struct err *e);

/* copy.c */
struct copy_args {
	const char *archive, *source, *dest, *cwd, *owner, *mode;
};
int build_copy(const struct copy_args *a, struct err *e);

/* The directory part of a pattern before its first wildcard: "a" for "a/b*". */
void build_pattern_dir(const char *pattern, char *ret, size_t size);
