/* SPDX-License-Identifier: Apache-2.0 */
/* cli/template/dockerfile: parses a Dockerfile into a list of instructions. No I/O.
 *
 * Comments, the directive `escape`, continuation lines, heredocs, flags, JSON and shell forms are parsed as Docker
 * does. build_plan.h interprets the instructions. Error messages contain the line number. */
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
	DF_IGNORED, /* LABEL and others without effect on files */
};

struct df_flag {
	char *name, *value; /* "chown"; value is "" if there is no '=' */
};

struct df_doc {            /* a heredoc */
	char *name, *body; /* body includes its newlines */
	bool expand;       /* its name is not quoted */
};

struct df_instr {
	enum df_kind kind;
	unsigned line;
	char *keyword; /* in upper case */
	struct df_flag flags[DOCKERFILE_FLAGS_MAX];
	size_t n_flags;
	char *text;   /* everything after the flags, heredocs unexpanded */
	bool exec;    /* exec form: a JSON array */
	char **words; /* elements of the array, else words (ENV, ARG: names and values alternate) */
	size_t n_words;
	struct df_doc docs[DOCKERFILE_DOCS_MAX];
	size_t n_docs;
};

struct dockerfile {
	struct df_instr *v;
	size_t n;
};

int dockerfile_parse(struct str text, struct dockerfile *ret, struct err *e); /* 0, -EINVAL or -ENOMEM */
void dockerfile_done(struct dockerfile *d);
#define autodockerfile __attribute__((cleanup(dockerfile_done)))

const char *df_flag_get(const struct df_instr *in, const char *name); /* NULL if not given */

/* Splits text into words like a shell and removes quotes and backslashes. Returns -EINVAL if a quote is not closed. */
int df_split(struct str text, char ***ret, size_t *ret_n);
void df_free_words(char **v, size_t n);

/* Expands $NAME, ${NAME}, ${NAME:-default} and ${NAME:+alternative}; the last two also without the colon, in which
 * case an empty value counts as set. value() returns NULL for an unset variable. The second function leaves unset
 * variables and backslashes as they are, because the server expands the rest. */
void df_expand(const char *text, const char *(*value)(void *user, const char *name), void *user, struct buf *out);
void df_expand_some(const char *text, const char *(*value)(void *user, const char *name), void *user, struct buf *out);
