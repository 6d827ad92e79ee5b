/* SPDX-License-Identifier: Apache-2.0 */
/* cli/template/context: the build context, the directory that a build copies files from. */
#pragma once

#include <stdint.h>

#include "base/err.h"
#include "base/str.h"
#include "cli/template/ignore.h"

struct context {
	char *dir; /* without symbolic links */
	struct ignore ignore;
};

struct archive { /* an unlinked temporary file */
	int fd;
	uint64_t bytes;
	char hash[65];
	unsigned files;
};

#define ARCHIVE_NONE ((struct archive) { .fd = -1 })

/* Reads DOCKERFILE.dockerignore, or else the context's .dockerignore. */
int context_open(const char *dir, const char *dockerfile, struct context *ret, struct err *e);
void context_done(struct context *c);

struct context_how {         /* all 0: a plain COPY */
	bool parents;        /* keep the directories of `source`, or only those after "/./"; "**" matches any number */
	const char *exclude; /* patterns as in .dockerignore, for paths below source or the name of a file */
};

/* Packs what `source` (a path or pattern in the context) matches. The archive's hash depends only on names, modes and
 * contents. Returns -ENOENT if nothing matches, -EINVAL if source is outside the context. */
int context_pack(const struct context *c, const char *source, const struct context_how *how, struct archive *ret,
    struct err *e);
/* If a pattern matches exactly one file, sets *ret to its path, which the caller frees; otherwise, or if it is no
 * pattern, to NULL. */
int context_single(const struct context *c, const char *source, char **ret, struct err *e);
/* an archive with one file */
int archive_of_text(const char *name, struct str text, struct archive *ret, struct err *e);
void archive_done(struct archive *a);

/* Functions to write an archive: */
int archive_begin(struct archive *a, struct err *e);
int archive_put(struct archive *a, const void *p, size_t n, struct err *e);
int archive_finish(struct archive *a, struct err *e); /* computes the hash and rewinds */
