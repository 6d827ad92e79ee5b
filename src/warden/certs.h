/* SPDX-License-Identifier: Apache-2.0 */
/* certs: opens the files of the TLS certificate for the front.
 *
 * The key stays readable by root alone. The front gets an open fd on each request, never a path. The warden does
 * not read the files. */
#pragma once

#include "base/err.h"
#include "ipc/msg.h"

struct config;

#define CERTS_DIR "tls" /* below the state directory; `atoll tls init` writes there */

int certs_open(const struct config *c, enum tls_file which, int *ret_fd, struct err *e);
