/* SPDX-License-Identifier: Apache-2.0 */
/* trail/chain: one record of the audit trail as a line of JSON that is chained to the line before it.
 *
 *	{"seq":7,"time":"...","kind":"code.run","request":"...","team":"...","key":"...","sandbox":"...",
 *	 "session":"...","fields":{...},"prev":"<64 hex>","hash":"<64 hex>","mac":"<32 hex>"}
 *
 * All members are there, in this order, without blanks. `hash` is the SHA-256 of the bytes of the line before
 * `,"hash"`, so it covers `prev`, the hash of the record before: whoever changes a record has to change all that
 * follow.
 * `mac` is the first half of the HMAC-SHA-256 of the hash: whoever does change them all, and has no key, is found out
 * too. No I/O here. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"

#define AUDIT_HASH_SIZE 32
#define AUDIT_MAC_SIZE 16
#define AUDIT_KEY_SIZE 32
#define AUDIT_HEX_SIZE (2 * AUDIT_HASH_SIZE + 1)
#define AUDIT_FIELDS_MAX 8192
#define AUDIT_LINE_MAX (AUDIT_FIELDS_MAX + 2048)
#define AUDIT_WORD_MAX 64 /* of a kind, an id, ... */

struct audit_point { /* the last record of a chain; all zero before the first */
	uint64_t seq;
	uint8_t hash[AUDIT_HASH_SIZE];
};

struct audit_record {
	uint64_t at_ms;                                        /* wall clock */
	struct str kind, request, team, key, sandbox, session; /* [A-Za-z0-9_.:-]{0,64} */
	struct str fields;                                     /* an object of JSON in printable ASCII */
};

struct audit_line {
	struct audit_record rec;
	uint64_t seq;
	struct str covered; /* what the hash is of */
	uint8_t prev[AUDIT_HASH_SIZE], hash[AUDIT_HASH_SIZE], mac[AUDIT_MAC_SIZE];
};

struct audit_seal; /* what hashes are made with */

/* NULL key: checks hashes only. NULL: out of memory */
struct audit_seal *audit_seal_new(const uint8_t key[AUDIT_KEY_SIZE]);
void audit_seal_free(struct audit_seal *s); /* NULL is fine */

bool audit_word_valid(struct str s);

/* Appends the record that follows *at, with its newline, and moves *at to it. -EINVAL: one of its texts is not of the
 * form above, and nothing was appended. */
int audit_compose(struct audit_seal *s, const struct audit_record *rec, struct audit_point *at, struct buf *out);

/* A line without its newline. -EBADMSG: it is none that trail_compose() makes. The texts point into the line. */
int audit_read(struct str line, struct audit_line *ret);

bool audit_hash_fits(struct audit_seal *s, const struct audit_line *l);
bool audit_mac_fits(struct audit_seal *s, const struct audit_line *l); /* true without a key, too */

void audit_hex(const uint8_t *p, size_t n, char *ret);         /* 2n digits and a NUL */
int audit_unhex(struct str text, uint8_t *ret, size_t n);      /* lower case; -EBADMSG */
void audit_sha256(struct str bytes, char ret[AUDIT_HEX_SIZE]); /* of anything, in hex */
