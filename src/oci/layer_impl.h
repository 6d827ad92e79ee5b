/* SPDX-License-Identifier: Apache-2.0 */
/* oci/layer_impl: shared by the files that lay a layer over a tree. */
#pragma once

#include <stdbool.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "oci/inoset.h"
#include "oci/layer.h"
#include "oci/tape.h"

#define LAYER_DEPTH_MAX 256 /* parts of a name */
#define LAYER_OWNERS 65536  /* ids of a sandbox */
#define LAYER_NOBODY 65534

struct layer {
	int root;
	struct layer_totals *totals;
	struct tape *tape;
	/* what this layer has put down or passed through: whiteouts are for the others */
	struct inoset mine;
	struct buf times;        /* of directories, set when nothing more is put into them */
	struct buf parent_path;  /* the directory that is open, */
	int parent_fd;           /* -1: none */
	int file;                /* being written; -1: its content is skipped */
	uint64_t file_at;        /* where its writing stands */
	struct tape_entry entry; /* of that file; names and attributes are gone by then */
	bool has_caps;           /* to be set when the content is there: a write takes them away */
	uint8_t caps[24];
	size_t n_caps;
	struct err e;
};

/* A name in its parts; they point into text. */
struct layer_path {
	char text[TAPE_NAME_MAX + 64]; /* room for what a merged link adds */
	const char *part[LAYER_DEPTH_MAX + 2];
	size_t n; /* 0: the root itself */
};

/* "./a//b/" is a, b. Refuses what leads out. */
int layer_path_parse(const char *name, struct layer_path *ret, struct err *e);

/* layer_walk.c: the directory that part n - 1 lies in, owned by the layer and valid until the next call; -1 with *e
 * set. make: missing directories are made; else they are -ENOENT. */
int layer_walk(struct layer *l, struct layer_path *p, bool make, int *ret_fd, struct err *e);
void layer_forget_parent(struct layer *l);

/* Removes dirfd/name whatever it is; and what a directory has from layers below. */
int layer_remove(struct layer *l, int dirfd, const char *name, struct err *e);
int layer_clear_lower(struct layer *l, int dirfd, unsigned depth, struct err *e);

/* layer_meta.c: whether an attribute may be kept; caps that root of a sandbox could not have anyway would only keep the
 * program from being started. */
bool layer_xattr_ok(const struct tape_xattr *x);
