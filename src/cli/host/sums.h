/* SPDX-License-Identifier: Apache-2.0 */
/* cli/host/sums: the files of a directory and their SHA-256, in a file that sha256sum(1) can check. */
#pragma once

#include "base/err.h"

#define SUMS_FILE "SHA256SUMS"

#define SUMS_SIGNATURE "SHA256SUMS.hmac" /* HMAC-SHA256 of that file, 64 hex digits */

struct sums {
	char *text; /* of the file */
};

/* Of all files in it, and the signature of the list, made with the key in that file (32 bytes, made if it is
 * missing). */
int sums_write(int dirfd, const char *key_file, struct err *e);

/* The list. key_file: what it must be signed with; NULL: it is believed as it is. */
int sums_read(int dirfd, const char *key_file, struct sums *ret, struct err *e);
void sums_done(struct sums *s);

/* Are all of them there, as they were, and no other? -EBADMSG names the first that is not. */
int sums_check(int dirfd, const struct sums *s, struct err *e);

/* A copy of one of them that nobody else can reach, checked as it is made: whoever can write to the directory cannot
 * change it any more. It has no name; in: the directory that it takes its room from. -ENOENT: it is not in the list. */
int sums_copy(int dirfd, const struct sums *s, const char *name, const char *in, int *ret_fd, struct err *e);

/* A copy without a name of a file that is open, a regular one. */
int private_copy(int from, const char *in, int *ret_fd, struct err *e);
