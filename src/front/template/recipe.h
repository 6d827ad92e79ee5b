/* SPDX-License-Identifier: Apache-2.0 */
/* front/template/recipe: a Debian of one's own as the base of a template,
 * "mmdebstrap:SUITE[+COMPONENT]...[,PACKAGE]...".
 *
 * It looks like the name of an image, so that every client can say it. What it says, and the two scripts that carry it
 * out, each in a sandbox: one of `base` makes the bare system, one of that system installs the packages, as their
 * scripts want to see /proc and /dev. Pure. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "base/err.h"
#include "base/str.h"

#define RECIPE_PREFIX "mmdebstrap:"
#define RECIPE_ARCHIVE "/var/tmp/atoll-recipe.tar" /* what the first script leaves */

struct recipe {
	char suite[64];
	char components[256]; /* "main contrib": main is always there */
	json_t *packages;     /* array of names, owned */
};

bool recipe_is(const char *image);
int recipe_read(const char *image, struct recipe *ret, struct err *e); /* -EINVAL, in words for the log */
void recipe_done(struct recipe *r);

/* Arguments of bash, for the caller to free. */
json_t *recipe_bootstrap(const struct recipe *r);
json_t *recipe_install(const struct recipe *r);
