/* SPDX-License-Identifier: Apache-2.0 */
/* env: the variables that every process of the sandbox starts with.
 *
 * There are four layers; a later one overrides an earlier one: the template's (/etc/atoll/env), those that point
 * programs to the trusted certificates (trust.h), those given at creation (/init), and our own E2B_* names. Only
 * the variables of a single command override the last layer, for that command. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "base/err.h"
#include "base/str.h"

struct user;

#define ENV_DEFAULT_PATH "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

struct env {
	json_t *template_vars, *trust, *given, *fixed;
};

int env_init(struct env *v); /* -ENOMEM */
void env_done(struct env *v);
void env_read_template(struct env *v);      /* may be repeated: the file may have changed */
void env_give(struct env *v, json_t *vars); /* replaces the given layer; vars is checked, borrowed */
void env_fix(struct env *v, const char *name, const char *value);

const char *env_find(const struct env *v, const char *name); /* borrowed; NULL: not set */
json_t *env_merged(const struct env *v);                     /* new reference */

/* True if a given variable is one that programs read only when they start. */
bool env_read_at_start(const struct env *v);

/* Names must not be empty or contain '='. -EINVAL: the message names the field. */
int env_check(const json_t *vars, const char *field, struct err *e);

/* Parses NAME=VALUE lines into the object; '#' starts a comment line; other lines are skipped. Pure. */
void env_parse(struct str text, json_t *into);

/* The environment of one command: PATH, HOME, USER, LOGNAME, SHELL, the merged layers, then extra (may be NULL).
 * One malloc'd block to free(); NULL: out of memory. */
char **env_build(const struct env *v, const struct user *u, const char *path, const json_t *extra);
