/* SPDX-License-Identifier: Apache-2.0 */
/* oci/registry: one repository of a registry: its manifests and blobs, over HTTP, with authentication.
 *
 * The user's name and password are sent to the named registry and to its token service, never to a mirror. A token
 * is sent only to the endpoint that issued the challenge, and not along a redirect to another host. */
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
	unsigned stall_s;          /* a transfer without progress for this long is aborted */
};

struct registry *registry_new(const struct registry_spec *sp, struct err *e); /* what sp points to must outlive it */
void registry_free(struct registry *r);                                       /* NULL is fine */

/* Fetches the document that the reference names, from the first endpoint that has it. Everything else is then
 * fetched from that endpoint. */
int registry_root(struct registry *r, struct buf *ret, struct digest *ret_digest, struct err *e);

/* Manifests and small blobs by digest, verified. */
int registry_manifest(struct registry *r, const struct blob *b, struct buf *ret, struct err *e);
int registry_small_blob(struct registry *r, const struct blob *b, struct buf *ret, struct err *e);

/* Writes a whole blob to fd; resumes after a broken connection. The reader of fd must verify the digest. */
int registry_blob(struct registry *r, const struct blob *b, int fd, struct err *e);

/* Called in a forked process: opens new connections; the endpoint and its token are kept. */
int registry_reopen(struct registry *r, struct err *e);
