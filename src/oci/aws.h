/* SPDX-License-Identifier: Apache-2.0 */
/* oci/aws: registries of AWS (ECR). They take a password that lives for hours, which their API gives for a signed
 * request. No I/O.
 *
 * The API is found by the name of the registry, ACCOUNT.dkr.ecr.REGION.REST: it is at api.ecr.REGION.REST, so whoever
 * is told who we are belongs to the host that the user has named. */
#pragma once

#include <stdbool.h>
#include <time.h>

#include "base/buf.h"
#include "base/err.h"
#include "oci/auth.h"
#include "oci/ref.h"

#define AWS_REGION_SIZE 40

struct aws_place {
	char host[REF_HOST_SIZE]; /* of the API, with the registry's port */
	char region[AWS_REGION_SIZE];
};

bool aws_place_of(const char *registry_host, struct aws_place *ret); /* false: it is none of theirs */

#define AWS_HEADERS 4

struct aws_call { /* a POST to https://HOST/ */
	const char *body;
	struct buf header[AWS_HEADERS]; /* lines: the kind of body, the target, the date, the signature */
};

/* Signature of version 4, over all that is sent. */
int aws_sign(const struct aws_place *at, const struct creds *c, time_t now, struct aws_call *ret, struct err *e);
void aws_call_done(struct aws_call *c);

/* The header line that stands for the password in the API's answer. */
int aws_read_answer(struct str json, struct buf *ret_header, struct err *e);
