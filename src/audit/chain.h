/* SPDX-License-Identifier: Apache-2.0 */
/* audit/chain: one record of the audit trail as a line of JSON that is chained to the line before it.
 *
 *	{"seq":7,"time":"...","kind":"code.run","request":"...","team":"...","key":"...","sandbox":"...",
 *	 "session":"...","fields":{...},"prev":"<64 hex>","hash":"<64 hex>","mac":"<32 hex>"}
 *
 * All members are present, in this order, without blanks. `hash` is the SHA-256 of the bytes of the line before
 * `,"hash"`. So it covers `prev`, the hash of the record before: changing a record requires changing all that
 * follow. `mac` is the first half of the HMAC-SHA-256 of the hash, which detects a chain that was rewritten
 * completely, but without the key. No I/O here. */
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
	struct str fields;                                     /* a JSON object in printable ASCII */
};

struct audit_line {
	struct audit_record rec;
	uint64_t seq;
	struct str covered; /* the bytes that the hash covers */
	uint8_t prev[AUDIT_HASH_SIZE], hash[AUDIT_HASH_SIZE], mac[AUDIT_MAC_SIZE];
};

struct audit_seal; /* the state for hashing */

/* NULL key: checks hashes only. Returns NULL when out of memory */
struct audit_seal *audit_seal_new(const uint8_t key[AUDIT_KEY_SIZE]);
void audit_seal_free(struct audit_seal *s); /* NULL is allowed */

bool audit_word_valid(struct str s);

/* Appends the record that follows *at, with its newline, and advances *at. -EINVAL: a text does not have the
 * form above, and nothing was appended. */
int audit_compose(struct audit_seal *s, const struct audit_record *rec, struct audit_point *at, struct buf *out);

/* Parses a line without its newline. -EBADMSG: audit_compose() could not have written it. The texts point into
 * the line. */
int audit_read(struct str line, struct audit_line *ret);

bool audit_hash_fits(struct audit_seal *s, const struct audit_line *l);
bool audit_mac_fits(struct audit_seal *s, const struct audit_line *l); /* also true without a key */

void audit_hex(const uint8_t *p, size_t n, char *ret);         /* 2n digits and a NUL */
int audit_unhex(struct str text, uint8_t *ret, size_t n);      /* lower case; -EBADMSG */
void audit_sha256(struct str bytes, char ret[AUDIT_HEX_SIZE]); /* of anything, in hex */
void audit_sha256_thread_ends(void);                           /* frees what the calling thread keeps for it */
