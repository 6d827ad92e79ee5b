/* SPDX-License-Identifier: Apache-2.0 */
/* cli/template/context: the directory that a build takes its files from. */
#pragma once

#include <stdint.h>

#include "base/err.h"
#include "base/str.h"
#include "cli/template/ignore.h"

struct context {
	char *dir; /* without links in it */
	struct ignore ignore;
};

struct archive { /* a file without a name */
	int fd;
	uint64_t bytes;
	char hash[65];
	unsigned files;
};

#define ARCHIVE_NONE ((struct archive) { .fd = -1 })

/* Reads DOCKERFILE.dockerignore, or else its own .dockerignore. */
int context_open(const char *dir, const char *dockerfile, struct context *ret, struct err *e);
void context_done(struct context *c);

struct context_how {  /* all 0: the plain way */
	bool parents; /* names in the archive have the directories of `source`, those behind "/./" if it has that; "**"
			 is many */
	const char *exclude; /* lines as in .dockerignore, of paths below the source, or of a file's name */
};

/* What `source` (a path or pattern below it) names, as an archive whose hash follows from names, modes and contents
 * alone. -ENOENT: there is nothing; -EINVAL: it is outside. */
int context_pack(const struct context *c, const char *source, const struct context_how *how, struct archive *ret,
    struct err *e);
/* A pattern that names one thing only: its path, to be freed. NULL: it is no pattern, or names several. */
int context_single(const struct context *c, const char *source, char **ret, struct err *e);
/* with one file in it */
int archive_of_text(const char *name, struct str text, struct archive *ret, struct err *e);
void archive_done(struct archive *a);

/* To write one's own: */
int archive_begin(struct archive *a, struct err *e);
int archive_put(struct archive *a, const void *p, size_t n, struct err *e);
int archive_finish(struct archive *a, struct err *e); /* its hash; reading begins at its start */
