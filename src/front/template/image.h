/* SPDX-License-Identifier: Apache-2.0 */
/* front/template/image: gets the file system of an image from a registry, from an archive that a client has
 * uploaded, or from an archive in a sandbox.
 *
 * Some names stand for templates of the server (setting image_map): then nothing is fetched. All others are
 * fetched by atoll-pull, which the warden starts. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "ipc/msg.h"

struct builds;
struct image_call;

struct image_result {
	int no; /* 0, or an errno value with the message in text */
	const char *text;
	char key[TEMPLATE_KEY_SIZE]; /* for OP_START */
	bool fresh;                  /* not provisioned: without what sandboxes need (the user and its home) */
	/* Configuration of the image: Env, Cmd, Entrypoint, WorkingDir, User; NULL: none. Valid during the call. */
	const json_t *config;
};

struct image_source {           /* borrowed */
	const char *ref;        /* its name in a registry, or a name for the archive */
	const json_t *registry; /* credentials, or NULL */
	uint64_t upload, bytes; /* an archive in the upload store; 0: none */
	const char *name;       /* which image of that archive; NULL: it has only one */
	const char *box, *path; /* an archive in a sandbox; NULL: none */
};

/* log gets lines about the progress. fn is called once, never from inside. */
struct image_call *image_get(struct builds *bs, const struct image_source *from,
    void (*log)(void *user, const char *line), void (*fn)(void *user, const struct image_result *re), void *user);
void image_cancel(struct image_call *c); /* NULL is fine */
