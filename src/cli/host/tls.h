/* SPDX-License-Identifier: Apache-2.0 */
/* cli/host/tls: the certificates that `atoll tls init` creates. */
#pragma once

#include <stdbool.h>

#include "base/err.h"

#define TLS_DOMAIN_DEFAULT "atoll.localhost"
#define TLS_PUBLIC_DEFAULT "/etc/atoll/tls" /* for the default state directory */

/* Ensures that a local certificate exists, as `atoll tls init` creates it, that it need not be renewed yet, and that
 * all users can read the CA certificate: in the directory used before, else in TLS_PUBLIC_DEFAULT for the default
 * state directory and RUN/tls for others. */
int tls_make_local(const char *state, const char *run_dir, struct err *e);

/* True if names under the domain (given without port) resolve on this machine. */
bool tls_names_resolve(const char *domain);
