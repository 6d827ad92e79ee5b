/* SPDX-License-Identifier: Apache-2.0 */
/* ca_bundle: the certificate authorities that a client trusts, in PEM. */
#pragma once

#include "base/buf.h"
#include "base/err.h"

#define CA_BUNDLE_MAX (4 * 1024 * 1024)

/* Appends those of the system, if it has some, and of the file; "": of no file. */
int ca_bundle_read(struct buf *out, const char *file, struct err *e);
