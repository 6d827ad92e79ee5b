/* SPDX-License-Identifier: Apache-2.0 */
/* oci/httpget: one GET, or a short POST, with libcurl, under the rules of the policy. The resolved address is
 * checked when the connection is made, so a name cannot resolve to another address between check and use. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "oci/auth.h"
#include "oci/policy.h"

struct httpget;

#define HTTPGET_URL_SIZE 8192 /* cloud storage uses long signed URLs */

/* A non-zero return stops the transfer and is the result of httpget_run(). */
typedef int httpget_sink(void *user, const void *p, size_t n, struct err *e);

struct httpget_spec {
	const char *url;
	struct origin at;    /* of the url */
	const char *accept;  /* header line, or NULL */
	const char *auth;    /* header line, or NULL */
	const char *post;    /* body of a POST, sent with the header lines in more; NULL: a GET */
	const char *more[4]; /* up to the first NULL */
	uint64_t from;       /* offset to resume at */
	httpget_sink *sink;  /* gets the body from that offset on, if the answer is a success */
	void *user;
	bool small; /* a document, not a layer: it has a time limit */
	bool named; /* the operator has configured this host: it may be at a private address */
};

struct httpget_answer {
	long status; /* 0: no answer */
	char type[128];
	char digest[80];                 /* Docker-Content-Digest */
	char location[HTTPGET_URL_SIZE]; /* of a redirect, absolute */
	struct challenge challenge;
	char text[256]; /* start of the body, if the answer is not a success */
	uint32_t retry_after_s;
	bool failed_sink; /* the sink stopped it */
	bool refused;     /* by the policy, or because of its size: a retry is useless */
};

struct httpget *httpget_new(const struct policy *p, unsigned stall_s); /* NULL: out of memory */
void httpget_free(struct httpget *h);

/* 0: an answer arrived, whatever its status. -errno: no answer, or it was cut short, or the sink stopped it. */
int httpget_run(struct httpget *h, const struct httpget_spec *sp, struct httpget_answer *ret, struct err *e);
