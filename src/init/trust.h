/* SPDX-License-Identifier: Apache-2.0 */
/* trust: the authorities that programs of the sandbox believe in, and one more: that of atoll-egress for this
 * sandbox. */
#pragma once

#include <jansson.h>

#include "base/err.h"
#include "base/str.h"

#define TRUST_BUNDLE "/etc/ssl/certs/ca-certificates.crt"
#define TRUST_EXTRA "/usr/local/share/ca-certificates/atoll-egress.crt"
#define TRUST_PEM_MAX (64 * 1024)

/* Puts the certificate into the bundle, in place of an earlier one of ours, and into a file of its own, from which
 * the system's tools make the bundle anew. bundle and extra: the two files. */
int trust_install(struct str pem, const char *bundle, const char *extra, struct err *e);

/* The bundle with the certificate in it (malloc, NULL: no memory). Pure. */
char *trust_merge(struct str bundle, struct str pem, size_t *ret_n);

/* Sets what tells programs of the bundle that do not look there by themselves. */
void trust_env(json_t *vars, const char *bundle);
