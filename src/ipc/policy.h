/* SPDX-License-Identifier: Apache-2.0 */
/* ipc/policy: what one sandbox may reach: sent by the front, held by the warden and atoll-egress, and stored in
 * the record.
 *
 * On the wire: struct policy_head, then n_nets of struct policy_net, then n_names times a struct
 * policy_name_head and the name without a NUL; nothing after that. A destination is allowed if an entry with
 * `allow` matches; otherwise it is refused if an entry without `allow` matches or POLICY_DENY_ALL is set;
 * otherwise it is allowed. Private ranges are closed whatever the policy says. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

struct buf;

#define POLICY_NETS_MAX 256
#define POLICY_NAMES_MAX 256
#define POLICY_NAME_MAX 253 /* of a domain name */
#define POLICY_NAME_SIZE 256
#define POLICY_MAX 20480 /* bytes on the wire */

#define POLICY_DENY_ALL 1u /* refuse what no entry allows */
#define POLICY_SOCKS 2u    /* all TCP connections go through a proxy of the sandbox's owner */
#define POLICY_FLAGS_ALL 3u

enum policy_kind {
	POLICY_ALLOW = 1, /* the name may be reached on these ports */
	POLICY_REWRITE,   /* requests to it are modified on their way; does not allow anything */
};

struct policy_head {
	uint32_t flags;
	uint16_t n_nets, n_names;
};

struct policy_net {
	uint32_t ip;               /* host byte order, host bits zero */
	uint16_t port_lo, port_hi; /* 0 and 65535: all, and protocols without ports */
	uint8_t len;               /* prefix length */
	uint8_t allow;             /* 0 or 1 */
	uint8_t pad[2];
};

struct policy_name_head {
	uint16_t port_lo, port_hi; /* 1 to 65535 */
	uint8_t kind;              /* enum policy_kind */
	uint8_t n;
};

struct policy_name {
	uint16_t port_lo, port_hi;
	enum policy_kind kind;
	char text[POLICY_NAME_SIZE]; /* valid by policy_name_ok() */
};

struct policy {
	uint32_t flags;
	uint32_t n_nets, n_names;
	struct policy_net *nets;
	struct policy_name *names;
};

/* Lower-case labels separated by dots, optionally with a leading "*.", or "*"; the last label is not a number. */
bool policy_name_ok(struct str name);

/* Returns whether the pattern ("a.com"; "*.a.com": below a.com, without itself; "*": all) matches the name,
 * which is lower-case and has no trailing dot. */
bool policy_name_match(struct str pattern, struct str name);

struct policy *policy_new(uint32_t flags);                          /* NULL: no memory */
void policy_free(struct policy *p);                                 /* NULL is allowed */
int policy_add_net(struct policy *p, const struct policy_net *net); /* -ENOMEM, -E2BIG */
int policy_add_name(struct policy *p, enum policy_kind kind, struct str name, uint16_t port_lo, uint16_t port_hi);

void policy_encode(const struct policy *p, struct buf *out);

/* -EBADMSG for anything that policy_encode() could not have produced from a valid policy, or -ENOMEM. */
int policy_decode(const void *bytes, size_t n, struct policy **ret);

/* By address alone: 1: allowed by an entry; -1: refused by an entry or by POLICY_DENY_ALL; 0: neither. */
int policy_net_verdict(const struct policy *p, uint32_t ip, uint16_t port);

/* Returns whether there is an entry of that kind for the name; port 0: any port. */
bool policy_name_find(const struct policy *p, enum policy_kind kind, struct str name, uint16_t port);
bool policy_port_named(const struct policy *p, uint16_t port); /* any kind of name has that port */
bool policy_port_rewritten(const struct policy *p, uint16_t port);
bool policy_has_names(const struct policy *p, enum policy_kind kind);
