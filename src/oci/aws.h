/* SPDX-License-Identifier: Apache-2.0 */
/* oci/aws: registries of AWS (ECR). They take a password that is valid for hours, which their API returns for a
 * signed request. No I/O.
 *
 * The API's host name is derived from the registry's, ACCOUNT.dkr.ecr.REGION.REST: it is api.ecr.REGION.REST. So
 * the credentials only go to a host that belongs to the registry the user has named. */
#pragma once

#include <stdbool.h>
#include <time.h>

#include "base/buf.h"
#include "base/err.h"
#include "oci/auth.h"
#include "oci/ref.h"

#define AWS_REGION_SIZE 40

struct aws_place {
	char host[REF_HOST_SIZE]; /* host of the API, with the registry's port */
	char region[AWS_REGION_SIZE];
};

bool aws_place_of(const char *registry_host, struct aws_place *ret); /* false: not an AWS registry */

#define AWS_HEADERS 4

struct aws_call { /* a POST to https://HOST/ */
	const char *body;
	struct buf header[AWS_HEADERS]; /* header lines: content type, target, date, signature */
};

/* Signature version 4, over everything that is sent. */
int aws_sign(const struct aws_place *at, const struct creds *c, time_t now, struct aws_call *ret, struct err *e);
void aws_call_done(struct aws_call *c);

/* The Authorization line with the password from the API's answer. */
int aws_read_answer(struct str json, struct buf *ret_header, struct err *e);
