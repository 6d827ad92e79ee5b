/* SPDX-License-Identifier: Apache-2.0 */
/* base/tar_head: header blocks of tar archives and records of pax headers, shared by the two readers of
 * archives.
 *
 * There are two readers, because they accept different input. base/tar_read.c reads archives from a sandbox or a
 * client: it reports names, sizes and permissions and nothing that grants privileges, and skips unknown entries,
 * so that one odd file does not end a copy. oci/tape.c reads the layers of images, which come from third
 * parties: it reports everything that a layer can hold (owners, set-id bits, attributes, devices, holes), and
 * rejects a layer with anything unknown, because a layer with a part left out is a different image. It is linked
 * only into the program that fetches images. Parsing of names, numbers and records is the same for both, and is
 * here. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"
#include "base/tar.h"

/* Offsets of the fields, and lengths of the text fields. */
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

/* Octal digits, ended by a blank or NUL, or GNU's binary form for larger values (a first byte of 0xff:
 * negative). 0 or -EBADMSG. */
int tar_number(const char *p, size_t n, int64_t *ret);
bool tar_checksum_ok(const char *block);
bool tar_is_zero(const char *block);
struct str tar_text(const char *p, size_t max); /* up to its NUL, if any */

/* Returns whether the header describes the entry that follows it (a pax header, a GNU long name) rather than an
 * entry of its own. */
bool tar_is_extra(const char *block);

/* The name of an entry, or the target of a link, NUL-terminated. given: from a preceding header; if it is empty,
 * the name is taken from the block, with the prefix that ustar has for long names. -EBADMSG: it is too long or
 * contains a NUL, or the name is empty. */
int tar_name_of(const char *block, struct str given, char dst[TAR_NAME_MAX]);
int tar_target_of(const char *block, struct str given, char dst[TAR_NAME_MAX]);

/* Reads the next record of a pax header, "27 path=...\n". 1: *in has moved past it; 0: no more; -EBADMSG. */
int tar_pax_next(struct str *in, struct str *ret_key, struct str *ret_value);
