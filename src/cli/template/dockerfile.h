/* SPDX-License-Identifier: Apache-2.0 */
/* cli/template/dockerfile: what a Dockerfile says: its instructions, one after the other. No I/O.
 *
 * Comments, the directive `escape`, continued lines, heredocs, flags, JSON and shell forms are understood as Docker
 * does. What an instruction means is for others (build_plan.h). Errors name the line. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

#define DOCKERFILE_MAX (1024 * 1024)
#define DOCKERFILE_INSTR_MAX 2000
#define DOCKERFILE_FLAGS_MAX 32
#define DOCKERFILE_DOCS_MAX 8

enum df_kind {
	DF_FROM,
	DF_RUN,
	DF_COPY,
	DF_ADD,
	DF_ENV,
	DF_ARG,
	DF_WORKDIR,
	DF_USER,
	DF_CMD,
	DF_ENTRYPOINT,
	DF_SHELL,
	DF_ONBUILD,
	DF_VOLUME,
	DF_IGNORED, /* LABEL and others that change no file */
};

struct df_flag {
	char *name, *value; /* "chown"; value "" without '=' */
};

struct df_doc {            /* a heredoc */
	char *name, *body; /* body with its line ends */
	bool expand;       /* its name was not quoted */
};

struct df_instr {
	enum df_kind kind;
	unsigned line;
	char *keyword; /* in capitals */
	struct df_flag flags[DOCKERFILE_FLAGS_MAX];
	size_t n_flags;
	char *text;   /* all behind the flags, with heredocs as they were written */
	bool exec;    /* it was a JSON array */
	char **words; /* of the array; else split at blanks (ENV, ARG: name and value by turns) */
	size_t n_words;
	struct df_doc docs[DOCKERFILE_DOCS_MAX];
	size_t n_docs;
};

struct dockerfile {
	struct df_instr *v;
	size_t n;
};

int dockerfile_parse(struct str text, struct dockerfile *ret, struct err *e); /* -EINVAL, -ENOMEM */
void dockerfile_done(struct dockerfile *d);
#define autodockerfile __attribute__((cleanup(dockerfile_done)))

const char *df_flag_get(const struct df_instr *in, const char *name); /* NULL: not given */

/* The words of a shell: quotes and backslashes are taken away. -EINVAL: a quote has no end. */
int df_split(struct str text, char ***ret, size_t *ret_n);
void df_free_words(char **v, size_t n);

/* $NAME, ${NAME}, ${NAME:-otherwise}, ${NAME:+instead}, both also without the colon (then an empty value is one), by a
 * function that knows the values (NULL: not set). The second leaves what is not set, and backslashes, as they are:
 * somebody else will expand the rest. */
void df_expand(const char *text, const char *(*value)(void *user, const char *name), void *user, struct buf *out);
void df_expand_some(const char *text, const char *(*value)(void *user, const char *name), void *user, struct buf *out);
