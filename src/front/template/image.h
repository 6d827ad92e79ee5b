/* SPDX-License-Identifier: Apache-2.0 */
/* front/template/image: the file system that an image of a registry, or in an archive that a client has sent or a
 * sandbox has made, stands for.
 *
 * Some names stand for templates of the server (setting image_map): then nothing is fetched. All others are fetched by
 * atoll-pull, which the warden starts. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "ipc/msg.h"

struct front;
struct image_call;

struct image_result {
	int no; /* 0, or an errno value; then text says why */
	const char *text;
	char key[TEMPLATE_KEY_SIZE]; /* for OP_START */
	bool fresh;                  /* as it was fetched: without what sandboxes need (the user, his home) */
	/* of the image: Env, Cmd, Entrypoint, WorkingDir, User; NULL: none. Lives during the call */
	const json_t *config;
};

struct image_source {           /* borrowed */
	const char *ref;        /* its name in a registry, or what to call an archive */
	const json_t *registry; /* how to log in, or NULL */
	uint64_t upload, bytes; /* an archive in the store of uploads; 0: there is none */
	const char *name;       /* which of the images in that archive; NULL: it has only one */
	const char *box, *path; /* an archive that lies in a sandbox; NULL: it does not */
};

/* log gets lines about what is going on. fn is called once, never from inside. */
struct image_call *image_get(struct front *f, const struct image_source *from,
    void (*log)(void *user, const char *line), void (*fn)(void *user, const struct image_result *re), void *user);
void image_cancel(struct image_call *c); /* NULL is fine */
