/* SPDX-License-Identifier: Apache-2.0 */
/* oci/httpget: one GET, or a short POST, by libcurl, under the rules of the policy: the address that a name leads to is
 * looked at when the connection is made, so that no name can lead elsewhere between a check and its use. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "oci/auth.h"
#include "oci/policy.h"

struct httpget;

#define HTTPGET_URL_SIZE 8192 /* stores of clouds sign addresses, and a session has much to say in one */

/* Non-zero ends the transfer and is the result of httpget_run(). */
typedef int httpget_sink(void *user, const void *p, size_t n, struct err *e);

struct httpget_spec {
	const char *url;
	struct origin at;    /* of the url */
	const char *accept;  /* header line, or NULL */
	const char *auth;    /* header line, or NULL */
	const char *post;    /* body: a POST with these header lines besides; NULL: a GET */
	const char *more[4]; /* up to the first NULL */
	uint64_t from;       /* resume here */
	httpget_sink *sink;  /* gets what stands from there on, if the answer is a good one */
	void *user;
	bool small; /* a document, not a layer: it must be here soon */
	bool named; /* the operator has named who is asked: it may be at a private address */
};

struct httpget_answer {
	long status; /* 0: none came */
	char type[128];
	char digest[80];                 /* Docker-Content-Digest */
	char location[HTTPGET_URL_SIZE]; /* of a redirect, absolute */
	struct challenge challenge;
	char text[256]; /* beginning of the body of an answer that is no good one */
	uint32_t retry_after_s;
	bool failed_sink; /* the sink ended it */
	bool refused;     /* the policy did, or its size: another try makes no difference */
};

struct httpget *httpget_new(const struct policy *p, unsigned stall_s); /* NULL: memory */
void httpget_free(struct httpget *h);

/* 0: an answer came, whatever it says. -errno: none, or it broke off, or the sink ended it. */
int httpget_run(struct httpget *h, const struct httpget_spec *sp, struct httpget_answer *ret, struct err *e);
