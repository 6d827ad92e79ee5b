/* SPDX-License-Identifier: Apache-2.0 */
/* cli/sums: the files of a directory and their SHA-256, in a file that sha256sum(1) can check. */
#pragma once

#include "base/err.h"

#define SUMS_FILE "SHA256SUMS"

int sums_write(int dirfd, struct err *e);	/* of all files in it */

/* Are all of them there, as they were, and no other? -EBADMSG names the first that is not. */
int sums_check(int dirfd, struct err *e);
