/* SPDX-License-Identifier: Apache-2.0 */
/* http/pem: uses OpenSSL. */
#include "http/pem.h"

#include <limits.h>

#include <openssl/err.h>
#include <openssl/pem.h>

bool pem_has_certificate(struct str pem)
{
	BIO *b = pem.n > 0 && pem.n <= INT_MAX ? BIO_new_mem_buf(pem.p, (int)pem.n) : NULL;
	X509 *cert = b ? PEM_read_bio_X509(b, NULL, NULL, NULL) : NULL;
	bool found = cert != NULL;

	X509_free(cert);
	BIO_free(b);
	ERR_clear_error();
	return found;
}
