/* SPDX-License-Identifier: Apache-2.0 */
/* cli/host/sums: the files of a directory and their SHA-256 checksums, in a file that sha256sum(1) can check. */
#pragma once

#include "base/err.h"

#define SUMS_FILE "SHA256SUMS"

#define SUMS_SIGNATURE "SHA256SUMS.hmac" /* HMAC-SHA256 of that file, 64 hex digits */

#define SUMS_HEX_SIZE 65

/* Hashes `from` to its end, and copies it to `to` unless that is -1. */
int sums_hash(int from, int to, char hex[SUMS_HEX_SIZE], struct err *e);

struct sums {
	char *text; /* contents of SUMS_FILE */
};

/* Writes the checksums of all files in the directory, and their signature with the key in key_file (32 bytes, created
 * if it is missing). */
int sums_write(int dirfd, const char *key_file, struct err *e);

/* Reads the list and verifies its signature with the key in key_file, unless that is NULL. */
int sums_read(int dirfd, const char *key_file, struct sums *ret, struct err *e);
void sums_done(struct sums *s);

/* Checks that the directory contains exactly the files in the list, unchanged. Returns -EBADMSG with the name of the
 * first that differs. */
int sums_check(int dirfd, const struct sums *s, struct err *e);

/* Copies a file to an unlinked file on the file system of `in` and verifies the checksum of the copy, which no one
 * else can change afterwards. Returns -ENOENT if the file is not in the list. */
int sums_copy(int dirfd, const struct sums *s, const char *name, const char *in, int *ret_fd, struct err *e);

/* Copies an open regular file to an unlinked file on the file system of `in`. */
int private_copy(int from, const char *in, int *ret_fd, struct err *e);
