/* SPDX-License-Identifier: Apache-2.0 */
/* oci/ref: the name of an image as people write it: `ubuntu:22.04`, `localhost:5000/team/app@sha256:…`. No I/O. */
#pragma once

#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"
#include "oci/digest.h"

#define REF_HOST_SIZE 262 /* a DNS name and a port */
#define REF_REPO_SIZE 256
#define REF_TAG_SIZE 129

struct ref {
	char host[REF_HOST_SIZE]; /* lower case; "docker.io" when none was written */
	char repo[REF_REPO_SIZE]; /* "library/ubuntu" */
	char tag[REF_TAG_SIZE];   /* "latest" when neither tag nor digest was written; "" with a digest alone */
	struct digest digest;
	bool pinned; /* the digest decides, the tag is decoration */
};

/* -EINVAL with words that name what is wrong. */
int ref_parse(struct str text, struct ref *ret, struct err *e);

/* The whole of it, written out: "docker.io/library/ubuntu:22.04". */
void ref_put(struct buf *out, const struct ref *r);

/* Host and perhaps a port: what may stand before the first slash, or in the configuration. Lower-cased into out. */
int ref_host(struct str text, char out[REF_HOST_SIZE]);
