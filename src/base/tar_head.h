/* SPDX-License-Identifier: Apache-2.0 */
/* base/tar_head: header blocks of a tape archive, and the records of pax headers, for the readers of archives.
 *
 * There are two readers, because they differ in what they let in. base/tar_read.c takes what a sandbox or a client
 * sent: it tells names, sizes and permissions and nothing that gives power, and passes over what it does not know, so
 * that one odd file does not end a copy. oci/tape.c takes the layers of images, which nobody here has made: it tells
 * all that a layer can hold (owners, set-id bits, attributes, devices, holes), and refuses what it does not know
 * whole, since a layer with a part left out is another image. It is linked into the program that fetches images, and
 * into no other. How bytes are read as names, numbers and records is the same for both, and is here. */
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

/* What a header is about: the entry that follows it (a pax header, a long name of GNU's) and not one of its own. */
bool tar_is_extra(const char *block);

/* The name of an entry, or the target of a link, as a text with its NUL. given: from a header before it; without one it
 * is that of the block, with the prefix that ustar has for long names. -EBADMSG: it is too long or has a NUL in it, or
 * a name is empty. */
int tar_name_of(const char *block, struct str given, char dst[TAR_NAME_MAX]);
int tar_target_of(const char *block, struct str given, char dst[TAR_NAME_MAX]);

/* Records of a pax header, "27 path=...\n", one after the other. 1: *in has moved behind one; 0: there is no more;
 * -EBADMSG. */
int tar_pax_next(struct str *in, struct str *ret_key, struct str *ret_value);
