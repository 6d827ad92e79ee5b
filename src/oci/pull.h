/* SPDX-License-Identifier: Apache-2.0 */
/* oci/pull: the processes of atoll-pull and their messages.
 *
 *	keeper		root's uid, but no capabilities: owns the cache, drives the pull, decides. Parses nothing.
 *	  ├ fetcher	a uid of its own, no files, only the network: registries, TLS, JSON. Has one worker per parallel
 *			download.
 *	  ├ storer	one per blob: writes a pipe to a file, named by the digest that it computes itself.
 *	  └ applier	root of a user namespace that contains only the image's directory: archives.
 *		  └ expander	one per layer, without even that: gzip, zstd.
 *
 * Messages are structs of fixed size over SOCK_SEQPACKET. No process uses a length or a name from another's message. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "oci/auth.h"
#include "oci/layer.h"
#include "oci/manifest.h"
#include "oci/policy.h"
#include "oci/ref.h"

#define PULL_WORKERS 4
#define PULL_NAME_SIZE 257 /* name of an image in a layout or archive */
#define PULL_IDS 65536     /* ids of a sandbox, and so of an image */

/* What to pull, and from where. */
enum pull_source {
	PULL_REGISTRY,
	PULL_LAYOUT, /* an OCI layout: a directory */
	/* a tar of such a layout, an archive of `docker save`, or a tar of a root file system */
	PULL_ARCHIVE,
	PULL_STREAM, /* an archive of a root file system, from a pipe */
};

struct pull_spec {
	enum pull_source source;
	struct ref ref;           /* for PULL_REGISTRY */
	int source_fd;            /* for the others */
	const char *recipe;       /* the recipe that produces PULL_STREAM */
	char tag[PULL_NAME_SIZE]; /* selects an image of a layout or archive by tag or name; "": the only one */
	struct policy policy;
	struct creds creds;
	struct platform platform;
	unsigned stall_s;
	uint64_t max_bytes, max_entries;
};

/* --- fetcher to keeper --- */

enum fetch_kind { FETCH_PLAN = 1, FETCH_PIPE, FETCH_FAIL };

struct plan_layer {
	struct blob blob;
	struct digest diff_id;
	bool blob_known, diff_known; /* false: not verified; the computed digest is used */
};

struct fetch_plan {
	struct digest manifest;
	uint32_t n_layers;
	struct plan_layer layer[MANIFEST_LAYERS_MAX];
};

struct fetch_msg {
	uint32_t kind;
	uint32_t layer; /* FETCH_PIPE, with one fd: that layer's bytes */
	union {
		struct fetch_plan plan;
		struct err e; /* FETCH_FAIL */
	} u;
};

struct fetch_go { /* keeper to fetcher, after the plan */
	uint8_t need[MANIFEST_LAYERS_MAX];
};

/* --- keeper to applier and back --- */

struct apply_msg { /* with one fd: the blob, open for reading */
	uint32_t layer;
};

struct apply_reply {
	struct err e; /* no == 0: the layer is applied */
	struct digest diff_id;
	struct layer_totals totals;
};

/* fetch.c: resolves the image, reports it to `talk`, sends the plan, fetches the needed layers. Exits. */
_Noreturn void fetch_main(struct pull_spec *sp, int keeper, int talk);

/* fetch_local.c: the same for images in a file or directory. */
int fetch_local_plan(struct pull_spec *sp, struct fetch_plan *ret, struct image_config *ret_config, struct err *e);
int fetch_local_layer(struct pull_spec *sp, uint32_t i, const struct fetch_plan *plan, int fd, struct err *e);

/* apply.c: pid 1 of its own namespaces. Waits for the mount of the image's directory, then applies layers. */
_Noreturn void apply_main(int keeper, const struct layer_totals *limits);
