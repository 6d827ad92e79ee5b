/* SPDX-License-Identifier: Apache-2.0 */
/* oci/pull: how the processes of atoll-pull share the work and what they say to each other.
 *
 *	keeper		root's uid, but no capabilities: the cache, the order of things, the last word. Parses nothing.
 *	  ├ fetcher	a uid of its own, no files, only the network: registries, TLS, JSON. Workers, one per parallel
 *			download.
 *	  ├ storer	one per blob: bytes of a pipe into a file, under the digest that it computes itself.
 *	  └ applier	root of a user namespace in which the image's directory is all there is: archives.
 *	      └ expander	one per layer, without even that: gzip, zstd.
 *
 * Messages are structs of fixed size over SOCK_SEQPACKET. Nobody takes a length or a name from a message of the
 * others. */
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
#define PULL_NAME_SIZE 257 /* of an image in a layout or archive */
#define PULL_IDS 65536     /* of a sandbox, and so of an image */

/* What is to be pulled, and from where. */
enum pull_source {
	PULL_REGISTRY,
	PULL_LAYOUT, /* an OCI layout: a directory */
	/* a tar of such a layout, or what `docker save` writes, or of a root file system */
	PULL_ARCHIVE,
	PULL_STREAM, /* an archive of a root file system, from a pipe */
};

struct pull_spec {
	enum pull_source source;
	struct ref ref;           /* of a registry */
	int source_fd;            /* of the others */
	const char *recipe;       /* whose archive PULL_STREAM is */
	char tag[PULL_NAME_SIZE]; /* which one in a layout or archive, by tag or name; "": there is only one */
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
	bool blob_known, diff_known; /* false: whatever comes, its own digest is its name */
};

struct fetch_plan {
	struct digest manifest;
	uint32_t n_layers;
	struct plan_layer layer[MANIFEST_LAYERS_MAX];
};

struct fetch_msg {
	uint32_t kind;
	uint32_t layer; /* FETCH_PIPE, with one fd: the bytes of that layer */
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
	struct err e; /* no == 0: the layer is laid */
	struct digest diff_id;
	struct layer_totals totals;
};

/* fetch.c: resolves, tells `talk` what was found, sends the plan, brings what is needed. Ends the process. */
_Noreturn void fetch_main(struct pull_spec *sp, int keeper, int talk);

/* fetch_local.c: the same for what lies in a file or directory. */
int fetch_local_plan(struct pull_spec *sp, struct fetch_plan *ret, struct image_config *ret_config, struct err *e);
int fetch_local_layer(struct pull_spec *sp, uint32_t i, const struct fetch_plan *plan, int fd, struct err *e);

/* apply.c: as pid 1 in namespaces of its own; waits for the mount of the image's directory, then for layers. */
_Noreturn void apply_main(int keeper, const struct layer_totals *limits);
