/* SPDX-License-Identifier: Apache-2.0 */
/* front/sandbox/template: the names that sandboxes can be made from, and the images behind them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"
#include "ipc/msg.h"
#include "store/templates.h"

#define TEMPLATE_ID_SIZE 24
#define TEMPLATES_ALL (TEMPLATES_MAX + 8)

struct template
{
	char id[TEMPLATE_ID_SIZE]; /* 20 of [a-z0-9], always the same for a name */
	char name[TEMPLATE_NAME_SIZE];
	char key[TEMPLATE_KEY_SIZE]; /* image, for the warden */
	char build[TPL_BUILD_SIZE];  /* which version: of the server's own ones the key in the form of a UUID */
	uint64_t built_ms;
};

struct templates {
	struct template v[TEMPLATES_ALL];
	size_t n;
};

/* What the warden has, plus the well-known names, which mean `base` unless it has them itself. */
int templates_init(struct templates *t, const struct msg_template *have, size_t n, struct err *e);

/* "[namespace/]name[:tag]" or an id. The err text is for the client: -ENOENT names what is missing. */
int templates_find(const struct templates *t, struct str ref, const struct template **ret, struct err *e);

void template_build_of_key(const char *key, char ret[TPL_BUILD_SIZE]);
bool template_ref_valid(struct str ref); /* has the form of one */
