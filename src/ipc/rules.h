/* SPDX-License-Identifier: Apache-2.0 */
/* ipc/rules: what atoll-egress inserts into outgoing requests, and the messages by which the front sets it.
 *
 * Rules contain secrets, so they go from the front to atoll-egress directly, over a SOCK_SEQPACKET socketpair
 * that the warden creates for the two and does not keep. They are not stored anywhere. One message per packet:
 * struct fe_rules, then the rules. Each is answered by struct fe_done, then the certificate (PEM) of the
 * sandbox's own CA if it has rules. A peer that sends anything else is disconnected.
 *
 * The rules: struct rules_head; n_rules times a length byte and the domain, a byte of flags, a byte with the
 * number of fields, and for each field a byte of flags, a length byte and the name, two length bytes
 * (little-endian) and the value; with RULES_SOCKS, a length byte and the host, two bytes with the port, and a
 * length byte before each of user and password; with RULES_SOCKS_TLS after that, a length byte and the name, two
 * length bytes and the certificates. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"
#include "ipc/msg.h"
#include "ipc/policy.h"

struct buf;

#define RULES_MAX 65536 /* bytes of encoded rules */
#define RULES_DOMAINS_MAX 10
#define RULES_FIELDS_MAX 20
#define RULES_NAME_MAX 64 /* of a field */
#define RULES_VALUE_MAX 16384
#define RULES_SEED_SIZE 32
#define RULES_PEM_MAX 4096
#define RULES_CA_MAX 16384

#define RULES_SOCKS 1u     /* flags of the head */
#define RULES_SOCKS_TLS 2u /* only with RULES_SOCKS */
#define RULE_BROKEN 1u     /* of a rule: a value is missing, so no request can be sent */
#define FIELD_SECRET 1u    /* of a field: sent only over TLS */

struct rules_head {
	uint8_t flags, n_rules;
};

struct rule_field {
	char *name, *value; /* one allocation */
	bool secret;
};

struct rule {
	char domain[POLICY_NAME_SIZE];
	bool broken;
	size_t n_fields;
	struct rule_field fields[RULES_FIELDS_MAX];
};

struct rules_socks {
	char host[POLICY_NAME_SIZE]; /* a name or an address; "": no proxy */
	uint16_t port;
	char user[256], password[256]; /* "": none */
	bool tls;
	char server_name[POLICY_NAME_SIZE]; /* the name in its certificate; "": that of the host */
	char *ca; /* PEM of the trusted CAs; NULL: those of this machine. Owned by struct rules */
};

struct rules {
	size_t n;
	struct rule v[RULES_DOMAINS_MAX];
	struct rules_socks socks;
};

struct rules *rules_new(void);    /* NULL: no memory */
void rules_free(struct rules *r); /* wipes it; NULL is allowed */

bool rules_field_name_ok(struct str name);   /* a token that affects neither framing nor routing of a request */
bool rules_field_value_ok(struct str value); /* no control characters except tabs */
int rules_add_field(struct rule *r, struct str name, struct str value, bool secret); /* -E2BIG, -ENOMEM */

/* The rule for that name, or for the longest *.name above it; NULL: none. */
const struct rule *rules_for(const struct rules *r, const char *name);

void rules_encode(const struct rules *r, struct buf *out);
int rules_decode(const void *bytes, size_t n, struct rules **ret); /* -EBADMSG, -ENOMEM */

/* --- messages --- */

#define FE_VERSION 1

enum fe_type {
	FE_RULES = 1, /* of the sandbox with that id, replaces any others */
	FE_DONE = 64, /* from atoll-egress */
	/* from atoll-egress, unsolicited: a sandbox tried to reach a refused destination; some are omitted if
	 * there are many */
	FE_REFUSED,
};

struct fe_head {
	uint16_t version;
	uint16_t type;
	uint32_t seq;
};

struct fe_rules {
	struct fe_head head;
	char id[ID_SIZE];
	uint8_t seed[RULES_SEED_SIZE]; /* of the sandbox's CA: the same after every restart */
	uint32_t n_rules;              /* bytes that follow */
	uint8_t pad[4];
};

struct fe_done {
	struct fe_head head;
	int32_t no;     /* 0; ENOENT: the policy of that sandbox is unknown */
	uint32_t n_pem; /* bytes that follow */
};

#define FE_WHY_SIZE 64

struct fe_refused {
	struct fe_head head; /* seq 0 */
	char id[ID_SIZE];
	uint32_t ip; /* host byte order; 0: only the name was looked up */
	uint16_t port;
	uint8_t pad[2];
	char name[POLICY_NAME_SIZE]; /* as sent by the sandbox; "": none */
	char why[FE_WHY_SIZE];
};

#define FE_MAX (sizeof(struct fe_rules) + RULES_MAX)
