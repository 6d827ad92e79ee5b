/* SPDX-License-Identifier: Apache-2.0 */
/* front/template/build_spec: the request for a build, parsed from JSON, and everything that is known without
 * running a step: variables, directories and the keys of layers. Pure. */
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

struct build_step { /* the strings point into the body */
	enum step_type type;
	const char *name;       /* as given */
	const json_t *args;     /* array of strings */
	const char *files_hash; /* or NULL */
	bool force;
	/* Added by the server to prepare an image: runs as root, and the build continues if it fails. */
	bool is_ours;
};

struct build_spec {
	json_t *body; /* owned */
	/* exactly one is set; from_upload: the hash of an archive */
	const char *from_image, *from_template, *from_upload;
	const char *upload_image;          /* which image of that archive; NULL: it has only one */
	const json_t *registry;            /* or NULL */
	const char *start_cmd, *ready_cmd; /* "": none */
	bool force;
	struct build_step *steps;
	size_t n;
};

/* body is borrowed; -EINVAL, naming the field */
int build_spec_parse(json_t *body, struct build_spec *ret, struct err *e);

/* Inserts a first step that installs these Debian packages, as far as the base lacks them. */
void build_spec_packages(struct build_spec *sp, const char *packages);
/* Number of steps added by the server: they come first and are not numbered. */
size_t build_spec_ours(const struct build_spec *sp);
void build_spec_done(struct build_spec *sp);

/* Checks a step before anything is run. Returns -EINVAL with a message for the build log. */
int build_step_check(const struct build_step *st, struct err *e);

/* Whether it changes files; otherwise it has no layer. */
bool build_step_has_layer(const struct build_step *st);
void build_step_label(const struct build_step *st, struct buf *out); /* "RUN pip install x", one line */
const char *build_step_arg(const struct build_step *st, size_t i);   /* "" if it has fewer arguments */

/* The key of the layer that the step adds on top of the layer `before`. With st NULL: the key of the base, whose
 * identity is `before`. */
void build_layer_key(const char *before, const struct build_step *st, char ret[LAYER_KEY_SIZE]);
void build_final_key(const char *before, const struct build_spec *sp, uint32_t cpu_permille, uint64_t mem_bytes,
    char ret[LAYER_KEY_SIZE]);

/* Expands $NAME and ${NAME}, ${NAME:-otherwise}, ${NAME:+instead}; a backslash escapes the next '$'. Runs nothing. */
void build_expand(const char *text, const json_t *env, struct buf *out);

/* Applies ENV to env. */
int build_apply_env(const struct build_step *st, json_t *env, const json_t *base_env, struct err *e);

/* Resolves path relative to dir, without ".", ".." and double slashes. Returns -ENAMETOOLONG. */
int build_join(const char *dir, const char *path, char ret[BUILD_DIR_SIZE]);
