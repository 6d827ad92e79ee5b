/* SPDX-License-Identifier: Apache-2.0 */
/* front/sandbox/template: template names, and the images that they stand for. */
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
	char id[TEMPLATE_ID_SIZE]; /* 20 of [a-z0-9], derived from the name */
	char name[TEMPLATE_NAME_SIZE];
	char key[TEMPLATE_KEY_SIZE]; /* key of the image, for the warden */
	char build[TPL_BUILD_SIZE];  /* version; of the server's own templates, the key in the form of a UUID */
	uint64_t built_ms;
};

struct templates {
	struct template v[TEMPLATES_ALL];
	size_t n;
};

/* Fills t with the templates of the warden and with the well-known names, unless the warden
 * has templates of these names itself. */
int templates_init(struct templates *t, const struct msg_template *have, size_t n, struct err *e);

/* Resolves "[namespace/]name[:tag]" or an id. The err text is for the client; -ENOENT names the missing template. */
int templates_find(const struct templates *t, struct str ref, const struct template **ret, struct err *e);

void template_build_of_key(const char *key, char ret[TPL_BUILD_SIZE]);
bool template_ref_valid(struct str ref); /* whether ref has the form of a template reference */
