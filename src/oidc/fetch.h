/* SPDX-License-Identifier: Apache-2.0 */
/* oidc/fetch: requests to the provider, by libcurl, with tight restrictions.
 *
 * Redirects are not followed, and proxies and cookies are not used. The address is checked when the socket is created,
 * so a name that resolves to a different address each time cannot evade the check: the host of the issuer may have a
 * private address, since the operator has named it; other hosts, which the provider's document names, must be public
 * and not this machine. */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "base/str.h"

struct fetch;
struct fetcher;

#define FETCH_BODY_MAX (512 * 1024)

struct fetch_result {
	int status;       /* 0: no answer */
	struct str body;  /* borrowed */
	const char *text; /* without an answer: why */
};

typedef void fetch_fn(void *user, const struct fetch_result *r);

struct fetch_spec {
	const char *url;
	const char *post;          /* body of a POST, as a form; NULL: a GET */
	const char *authorization; /* value of the field; NULL: none */
	fetch_fn *fn;
	void *user;
};

/* issuer: must outlive it. ca_file: further certificate authorities; "": none. */
int fetcher_new(const char *issuer, const char *ca_file, struct fetcher **ret, struct err *e);
void fetcher_free(struct fetcher *f); /* NULL is fine; ends what is under way without calling its fn */

/* -ENOMEM. fn is called later, from fetcher_wait(). */
int fetch_begin(struct fetcher *f, const struct fetch_spec *sp, struct fetch **ret);
void fetch_cancel(struct fetch *f); /* NULL is fine */

/* Waits for these fds (-1: none) or for progress of its own, at most some seconds; then does what can be done. */
int fetcher_wait(struct fetcher *f, const int fds[2], bool ret_ready[2]);
