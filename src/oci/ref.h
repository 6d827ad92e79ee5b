/* SPDX-License-Identifier: Apache-2.0 */
/* oci/ref: image references: `ubuntu:22.04`, `localhost:5000/team/app@sha256:…`. No I/O. */
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
	char host[REF_HOST_SIZE]; /* lower case; "docker.io" if absent */
	char repo[REF_REPO_SIZE]; /* "library/ubuntu" */
	char tag[REF_TAG_SIZE];   /* "latest" if neither tag nor digest is given; "" with a digest alone */
	struct digest digest;
	bool pinned; /* by digest; the tag is ignored */
};

/* -EINVAL with a description of the error. */
int ref_parse(struct str text, struct ref *ret, struct err *e);

/* The full form: "docker.io/library/ubuntu:22.04". */
void ref_put(struct buf *out, const struct ref *r);

/* Parses a host with optional port, as before the first slash or in the configuration. Lower-cased into out. */
int ref_host(struct str text, char out[REF_HOST_SIZE]);
