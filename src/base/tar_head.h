/* SPDX-License-Identifier: Apache-2.0 */
/* base/tar_head: a header block of a tape archive, for the readers of archives. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"
#include "base/tar.h"

/* Where the fields are, and how long the texts. */
enum {
	TAR_NAME = 0,
	TAR_NAME_N = 100,
	TAR_MODE = 100,
	TAR_UID = 108,
	TAR_GID = 116,
	TAR_SIZE = 124,
	TAR_MTIME = 136,
	TAR_CHECKSUM = 148,
	TAR_TYPE = 156,
	TAR_LINK = 157,
	TAR_LINK_N = 100,
	TAR_MAGIC = 257,
	TAR_PREFIX = 345,
	TAR_PREFIX_N = 155
};

/* Octal digits, ended by a blank or NUL; or GNU's binary form for what octal cannot hold (a first byte 0xff: negative).
 * 0 or -EBADMSG. */
int tar_number(const char *p, size_t n, int64_t *ret);
bool tar_checksum_ok(const char *block);
bool tar_is_zero(const char *block);
struct str tar_text(const char *p, size_t max); /* up to its NUL, if it has one */
