/* SPDX-License-Identifier: Apache-2.0 */
/* cli/packed/manifest: what is in a packed template, docs/internals/templates.md#packed-templates.
 *
 * A packed template is a tar of its directory in the cache, cut into blocks. The manifest names the blocks by the
 * SHA-256 of their compressed form, in their order. It is signed as a whole, and parsed only after its signature was
 * verified; who has the blocks that it names has the template. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

#define PACKED_MANIFEST_MAX (8u << 20)
#define PACKED_BLOCK_MAX (4u << 20) /* of the tar; compressed it may be a little longer */
#define PACKED_STORED_MAX (PACKED_BLOCK_MAX + (64u << 10))
#define PACKED_HASH_LEN 64
#define PACKED_NAME_SIZE 64
#define PACKED_BLOCKS_MAX 65536

struct packed_block {
	char hash[PACKED_HASH_LEN + 1];
	uint32_t stored, plain; /* bytes, compressed and not */
};

struct packed {
	char name[PACKED_NAME_SIZE]; /* of the recipe */
	char key[33];                /* of the recipe: templates/build --key */
	char arch[16];
	char version[32]; /* of the atoll that packed it; for people */
	uint64_t plain;   /* bytes of the tar */
	struct packed_block *blocks;
	size_t n_blocks;
};

/* Refuses everything that packed_write() would not write. */
int packed_parse(struct str text, struct packed *ret, struct err *e);
void packed_write(const struct packed *p, struct buf *to);
void packed_done(struct packed *p);
#define autopacked __attribute__((cleanup(packed_done)))

const char *packed_arch(void);                                            /* of this machine, as Debian names it */
void packed_hash(const void *p, size_t n, char ret[PACKED_HASH_LEN + 1]); /* SHA-256 in hex */
