/* SPDX-License-Identifier: Apache-2.0 */
/* certs: the files of the TLS certificate, opened for the front.
 *
 * The key is readable by root alone and stays so: the front gets an open fd, each time that it asks, and never a path.
 * The warden does not look into the files. */
#pragma once

#include "base/err.h"
#include "ipc/msg.h"

struct config;

#define CERTS_DIR "tls" /* below the state directory: where `atoll tls init` puts things */

int certs_open(const struct config *c, enum tls_file which, int *ret_fd, struct err *e);
