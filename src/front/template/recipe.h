/* SPDX-License-Identifier: Apache-2.0 */
/* front/template/recipe: a custom Debian system as the base of a template,
 * "mmdebstrap:SUITE[+COMPONENT]...[,PACKAGE]...".
 *
 * It has the form of an image name, so that every client can send it. This module parses it and has the two
 * scripts that carry it out, each in a sandbox: one in `base` creates the minimal system, one in that system
 * installs the packages, because their scripts need /proc and /dev. Pure. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "base/err.h"
#include "base/str.h"

#define RECIPE_PREFIX "mmdebstrap:"
#define RECIPE_ARCHIVE "/var/tmp/atoll-recipe.tar" /* output of the first script */

struct recipe {
	char suite[64];
	char components[256]; /* "main contrib": main is always included */
	json_t *packages;     /* array of names, owned */
};

bool recipe_is(const char *image);
int recipe_read(const char *image, struct recipe *ret, struct err *e); /* -EINVAL, with a message for the build log */
void recipe_done(struct recipe *r);

/* Arguments for bash; the caller frees them. */
json_t *recipe_bootstrap(const struct recipe *r);
json_t *recipe_install(const struct recipe *r);
