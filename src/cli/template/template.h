/* SPDX-License-Identifier: Apache-2.0 */
/* cli/template/template: the root file systems that sandboxes start from: names, keys, the cache and builds. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

#define TEMPLATE_KEY_LEN 32

const char *template_default(void); /* $E2B_TEMPLATE_ID, else ATOLL_TEMPLATE_DEFAULT */
const char *template_cache(void);   /* $ATOLL_CACHE, else /var/cache/atoll */

/* Returns the hash of a recipe, as `templates/build --key` prints it. */
int template_key(const char *build_script, const char *name, char ret[TEMPLATE_KEY_LEN + 1], struct err *e);
struct template_asked {
	const char *name;
	char key[TEMPLATE_KEY_LEN + 1];
	struct err e; /* set if it has no key */
};

/* Computes several keys in parallel, because each needs a script that reads many files. */
void template_keys(const char *build_script, struct template_asked *v, size_t n);

bool template_cached(const char *cache, const char *key);

/* Builds the template if it is not in the cache, with progress on stderr. Returns -ECANCELED if interrupted. */
int template_build(const char *build_script, const char *cache, const char *name, struct err *e);

bool template_key_valid(const char *key);
