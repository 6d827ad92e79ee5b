/* SPDX-License-Identifier: Apache-2.0 */
/* cli/host/tls: where `atoll tls init` leaves what clients need. */
#pragma once

#include <stdbool.h>

#include "base/err.h"

#define TLS_DOMAIN_DEFAULT "atoll.localhost"
#define TLS_PUBLIC_DEFAULT "/etc/atoll/tls" /* of the default state directory */

/* Makes sure that there is a certificate, as `atoll tls init` makes it, that is good for a while yet, and that all
 * users of the machine find whom to trust: where they did before, else in RUN/tls (of another state directory than the
 * default one). */
int tls_make_local(const char *state, const char *run_dir, struct err *e);

/* Does this machine find names below that domain (without its port) anywhere? */
bool tls_names_resolve(const char *domain);
