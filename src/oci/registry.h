/* SPDX-License-Identifier: Apache-2.0 */
/* oci/registry: one repository of a registry: its manifests and blobs, over HTTP, with its ways of asking who we are.
 *
 * Who is told what: the user's name and password go to the registry that was named and to the token service it points
 * to, never to a mirror; a token goes to the place that gave the challenge and not along with a redirect to another
 * host. */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "oci/auth.h"
#include "oci/manifest.h"
#include "oci/policy.h"
#include "oci/ref.h"

struct registry;

struct registry_spec {
	const struct policy *policy;
	const struct ref *ref;
	const struct creds *creds; /* empty: none */
	unsigned stall_s;          /* silence that ends a transfer */
};

struct registry *registry_new(const struct registry_spec *sp, struct err *e); /* what sp points to must outlive it */
void registry_free(struct registry *r);                                       /* NULL is fine */

/* The document that the reference names: from the first place that has it, where everything else is then fetched
 * too. */
int registry_root(struct registry *r, struct buf *ret, struct digest *ret_digest, struct err *e);

/* Manifests and small blobs by digest, checked. */
int registry_manifest(struct registry *r, const struct blob *b, struct buf *ret, struct err *e);
int registry_small_blob(struct registry *r, const struct blob *b, struct buf *ret, struct err *e);

/* All of a blob into fd; takes up again where a connection broke. The digest is for the reader of fd to check. */
int registry_blob(struct registry *r, const struct blob *b, int fd, struct err *e);

/* For a process that was forked: connections are not shared, what was learnt about the place and its token is. */
int registry_reopen(struct registry *r, struct err *e);
