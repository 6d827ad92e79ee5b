/* SPDX-License-Identifier: Apache-2.0 */
/* oci/manifest: the JSON documents of an image: index (or docker's manifest list), manifest (OCI or docker schema
 * 2), configuration. Parses text into checked structures; no I/O. The documents are not trusted. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"
#include "oci/digest.h"

#define MANIFEST_TEXT_MAX (4u << 20) /* per document; registries have the same limit */
#define MANIFEST_LAYERS_MAX 128

struct buf;

struct blob {
	struct digest digest;
	uint64_t size;
};

struct platform {
	const char *os, *arch, *variant; /* variant NULL: any */
};

/* The platform of this machine. */
struct platform platform_here(void);

enum manifest_kind { MANIFEST_IMAGE = 1, MANIFEST_INDEX };

/* The kind of a document, by its media type or, without one, by its fields. -EBADMSG, -ENOTSUP. */
int manifest_kind(struct str text, enum manifest_kind *ret, struct err *e);

/* Finds the manifest for a platform in an index. tag: only entries with that name (OCI layouts); NULL: any. The
 * error of -ENOENT lists what is available. */
int manifest_choose(struct str index, const struct platform *want, const char *tag, struct blob *ret, struct err *e);
void manifest_put_name(struct buf *out, const char *name); /* appends to a list for an error, while there is room */

struct manifest {
	struct blob config;
	struct blob layers[MANIFEST_LAYERS_MAX];
	uint32_t n_layers;
};

int manifest_read(struct str text, struct manifest *ret, struct err *e);

struct image_config {
	struct digest diff_ids[MANIFEST_LAYERS_MAX];
	uint32_t n_diff_ids;
	/* Env, Cmd, Entrypoint, WorkingDir, User, ExposedPorts, Labels: those that are present. */
	json_t *run;
};

/* An image for a platform other than want is refused (-ENOEXEC). */
int image_config_read(struct str text, const struct platform *want, struct image_config *ret, struct err *e);
void image_config_done(struct image_config *c);
