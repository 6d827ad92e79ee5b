/* SPDX-License-Identifier: Apache-2.0 */
/* front/template/build_spec: what a client wants to be built, read from JSON; and what of it can be told without
 * running anything: variables, directories, and the keys of layers. Pure. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"
#include "store/builds.h"

#define BUILD_STEPS_MAX 1000
#define BUILD_USER_SIZE 64
#define BUILD_DIR_SIZE 4096
#define UPLOAD_DIGITS 64

enum step_type { STEP_RUN, STEP_COPY, STEP_ENV, STEP_WORKDIR, STEP_USER, STEP_UNKNOWN };

struct build_step { /* strings are those of the body */
	enum step_type type;
	const char *name;       /* as it was given */
	const json_t *args;     /* array of strings */
	const char *files_hash; /* or NULL */
	bool force;
	/* not the client's: the server prepares an image by it, as root, and goes on if it fails */
	bool is_ours;
};

struct build_spec {
	json_t *body;                                         /* owned */
	const char *from_image, *from_template, *from_upload; /* one of them; from_upload: the hash of an archive */
	const char *upload_image;          /* which of the images in that archive; NULL: it has only one */
	const json_t *registry;            /* or NULL */
	const char *start_cmd, *ready_cmd; /* "": none */
	bool force;
	struct build_step *steps;
	size_t n;
};

int build_spec_parse(json_t *body, struct build_spec *ret, struct err *e); /* borrowed; -EINVAL names the field */

/* Puts a command before all steps that installs those Debian packages, of which the base lacks some. */
void build_spec_packages(struct build_spec *sp, const char *packages);
/* how many steps are not the client's: they come first, and are not numbered */
size_t build_spec_ours(const struct build_spec *sp);
void build_spec_done(struct build_spec *sp);

/* What can be told to be wrong with a step before anything has run. -EINVAL, in words for the log. */
int build_step_check(const struct build_step *st, struct err *e);

/* Does it change files? Else there is no layer of it. */
bool build_step_has_layer(const struct build_step *st);
void build_step_label(const struct build_step *st, struct buf *out); /* "RUN pip install x", one line */
const char *build_step_arg(const struct build_step *st, size_t i);   /* "" if it has fewer */

/* The key of what comes after `before` by that step; NULL: the key of the base, which is `before`, an identity. */
void build_layer_key(const char *before, const struct build_step *st, char ret[LAYER_KEY_SIZE]);
void build_final_key(const char *before, const struct build_spec *sp, uint32_t cpu_permille, uint64_t mem_bytes,
    char ret[LAYER_KEY_SIZE]);

/* $NAME and ${NAME}, ${NAME:-otherwise}, ${NAME:+instead}; a backslash keeps the next '$'. Nothing is ever run. */
void build_expand(const char *text, const json_t *env, struct buf *out);

/* Applies ENV to env. */
int build_apply_env(const struct build_step *st, json_t *env, const json_t *base_env, struct err *e);

/* path as seen from dir, without "." and ".." and double slashes. -ENAMETOOLONG. */
int build_join(const char *dir, const char *path, char ret[BUILD_DIR_SIZE]);
