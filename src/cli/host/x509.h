/* SPDX-License-Identifier: Apache-2.0 */
/* cli/host/x509: a certificate authority of one's own, and certificates signed by it. All as PEM text, no files.
 *
 * Keys are EC P-256. The authority may sign only for the names that it was made for (name constraints), so whoever
 * trusts it trusts it for these and nothing else. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

struct x509_names {
	const char *const *dns; /* "atoll.localhost", "*.atoll.localhost" */
	size_t n_dns;
	bool loopback; /* and 127.0.0.1 and ::1 */
};

/* A name that can stand in a certificate: labels of letters, digits and dashes in lower case; "*." may come first. */
bool x509_name_valid(const char *name);

int x509_make_ca(const char *common_name, const struct x509_names *names, unsigned days, struct buf *ret_cert,
    struct buf *ret_key, struct err *e);

/* A server's certificate with a fresh key; ret_cert has the authority's behind it. It is checked as a client would
 * check it: -EKEYREJECTED means that this authority may not sign for these names, or not for so long. */
int x509_make_cert(struct str ca_cert, struct str ca_key, const struct x509_names *names, unsigned days,
    struct buf *ret_cert, struct buf *ret_key, struct err *e);

struct x509_info {
	char fingerprint[65]; /* SHA-256, hex digits */
	int64_t not_after;    /* seconds of the epoch */
};

int x509_info(struct str cert, struct x509_info *ret, struct err *e); /* of the first one in the text */
