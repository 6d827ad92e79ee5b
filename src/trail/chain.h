/* SPDX-License-Identifier: Apache-2.0 */
/* trail/chain: one record of the audit trail as a line of JSON that is chained to the line before it.
 *
 *	{"seq":7,"time":"...","kind":"code.run","request":"...","team":"...","key":"...","sandbox":"...","session":"...",
 *	 "fields":{...},"prev":"<64 hex>","hash":"<64 hex>","mac":"<32 hex>"}
 *
 * All members are there, in this order, without blanks. `hash` is the SHA-256 of the bytes of the line before `,"hash"`, so it covers
 * `prev`, the hash of the record before: whoever changes a record has to change all that follow. `mac` is the first half of the
 * HMAC-SHA-256 of the hash: whoever does change them all, and has no key, is found out too. No I/O here. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"

#define TRAIL_HASH_SIZE 32
#define TRAIL_MAC_SIZE 16
#define TRAIL_KEY_SIZE 32
#define TRAIL_HEX_SIZE (2 * TRAIL_HASH_SIZE + 1)
#define TRAIL_FIELDS_MAX 8192
#define TRAIL_LINE_MAX (TRAIL_FIELDS_MAX + 2048)
#define TRAIL_WORD_MAX 64		/* of a kind, an id, ... */

struct trail_point {			/* the last record of a chain; all zero before the first */
	uint64_t seq;
	uint8_t hash[TRAIL_HASH_SIZE];
};

struct trail_record {
	uint64_t at_ms;			/* wall clock */
	struct str kind, request, team, key, sandbox, session;	/* [A-Za-z0-9_.:-]{0,64} */
	struct str fields;		/* an object of JSON in printable ASCII */
};

struct trail_line {
	struct trail_record rec;
	uint64_t seq;
	struct str covered;		/* what the hash is of */
	uint8_t prev[TRAIL_HASH_SIZE], hash[TRAIL_HASH_SIZE], mac[TRAIL_MAC_SIZE];
};

struct trail_seal;			/* what hashes are made with */

struct trail_seal *trail_seal_new(const uint8_t key[TRAIL_KEY_SIZE]);	/* NULL key: checks hashes only. NULL: out of memory */
void trail_seal_free(struct trail_seal *s);				/* NULL is fine */

bool trail_word_valid(struct str s);

/* Appends the record that follows *at, with its newline, and moves *at to it. -EINVAL: one of its texts is not of the form above, and
 * nothing was appended. */
int trail_compose(struct trail_seal *s, const struct trail_record *rec, struct trail_point *at, struct buf *out);

/* A line without its newline. -EBADMSG: it is none that trail_compose() makes. The texts point into the line. */
int trail_read(struct str line, struct trail_line *ret);

bool trail_hash_fits(struct trail_seal *s, const struct trail_line *l);
bool trail_mac_fits(struct trail_seal *s, const struct trail_line *l);	/* true without a key, too */

void trail_hex(const uint8_t *p, size_t n, char *ret);			/* 2n digits and a NUL */
int trail_unhex(struct str text, uint8_t *ret, size_t n);		/* lower case; -EBADMSG */
void trail_sha256(struct str bytes, char ret[TRAIL_HEX_SIZE]);		/* of anything, in hex */
