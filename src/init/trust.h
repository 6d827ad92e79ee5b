/* SPDX-License-Identifier: Apache-2.0 */
/* trust: the certificate authorities that programs of the sandbox trust, plus that of atoll-egress for this
 * sandbox. */
#pragma once

#include <jansson.h>

#include "base/err.h"
#include "base/str.h"

#define TRUST_BUNDLE "/etc/ssl/certs/ca-certificates.crt"
#define TRUST_EXTRA "/usr/local/share/ca-certificates/atoll-egress.crt"
#define TRUST_PEM_MAX (64 * 1024)

/* Adds the certificate to the bundle, replacing an earlier one of atoll-egress, and writes it to the file extra,
 * from which the system's tools rebuild the bundle. bundle and extra are paths. */
int trust_install(struct str pem, const char *bundle, const char *extra, struct err *e);

/* The bundle with the certificate added (malloc, NULL: out of memory). Pure. */
char *trust_merge(struct str bundle, struct str pem, size_t *ret_n);

/* Sets the variables that point programs to the bundle if they do not use it by default. */
void trust_env(json_t *vars, const char *bundle);
