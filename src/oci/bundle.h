/* SPDX-License-Identifier: Apache-2.0 */
/* oci/bundle: the files of an image in a directory (an OCI layout), in a tar file of a layout, or in an archive of
 * `docker save`. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

struct bundle_file { /* a range of an fd */
	int fd;      /* owned */
	uint64_t at, size;
};

struct bundle;

int bundle_open_dir(int dir_fd, struct bundle **ret, struct err *e);
int bundle_open_tar(int fd, struct bundle **ret, struct err *e); /* fd: seekable */
void bundle_free(struct bundle *b);                              /* NULL is fine; the fd given stays open */

/* True if it has none of an image's files: a tar of a root file system. */
bool bundle_is_plain(const struct bundle *b);
bool bundle_has(const struct bundle *b, const char *name);

int bundle_find(const struct bundle *b, const char *name, struct bundle_file *ret, struct err *e); /* -ENOENT */
int bundle_text(const struct bundle *b, const char *name, struct buf *ret, struct err *e);
