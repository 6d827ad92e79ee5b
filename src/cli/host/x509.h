/* SPDX-License-Identifier: Apache-2.0 */
/* cli/host/x509: creates a private certificate authority and certificates signed by it. Input and output are PEM
 * text; no files.
 *
 * Keys are EC P-256. Name constraints limit the authority to the names it was created for, so a client that trusts it
 * does so for these names only. */
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
	bool loopback; /* also 127.0.0.1 and ::1 */
};

/* True if the name may be in a certificate: labels of lower-case letters, digits and dashes, optionally after "*.". */
bool x509_name_valid(const char *name);

int x509_make_ca(const char *common_name, const struct x509_names *names, unsigned days, struct buf *ret_cert,
    struct buf *ret_key, struct err *e);

/* Creates a server certificate with a new key; the authority's certificate is appended to ret_cert. The result is
 * verified as a client would: -EKEYREJECTED means that this authority may not sign for these names, or not for this
 * long. */
int x509_make_cert(struct str ca_cert, struct str ca_key, const struct x509_names *names, unsigned days,
    struct buf *ret_cert, struct buf *ret_key, struct err *e);

struct x509_info {
	char fingerprint[65]; /* SHA-256 in hex */
	int64_t not_after;    /* seconds since the epoch */
};

int x509_info(struct str cert, struct x509_info *ret, struct err *e); /* of the first certificate in the text */
