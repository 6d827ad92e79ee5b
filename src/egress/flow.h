/* SPDX-License-Identifier: Apache-2.0 */
/* flow: one diverted connection, from its first byte to its end.
 *
 *	SNIFF ── a name, or none ──▶ (decide) ── by name or address ──▶ CONNECT ──▶ PASS
 *	                                └── refused: reset
 *
 * A name that the policy allows is looked up by ourselves, and where the sandbox believed the host to be does not
 * matter. What is allowed by its address goes to that address. HTTP in the clear is read request by request. TLS is
 * moved unread, but for hosts whose requests are changed: there we are the server for the sandbox, with a certificate
 * of its own authority, and a client of the host, whose certificate must be good. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "ipc/policy.h"

struct client;
struct flow;
struct loop;
struct resolver;

struct flow_env {
	struct loop *loop;
	struct resolver *resolver;
	void (*on_gone)(void *user); /* a flow has ended, or could not be made */
	void *user;
};

/* Owns fd: closed also on failure (-ENOMEM). It takes itself off the client's list at its end. */
int flow_new(const struct flow_env *env, struct client *c, int fd, uint32_t dst_ip, uint16_t dst_port);
void flow_free(struct flow *f);               /* the sandbox sees a reset */
struct flow *flow_next(const struct flow *f); /* of the same client */
bool flow_still_allowed(const struct flow *f);

/* What the policy says to a connection: name "" when there is none. */
enum flow_verdict { FLOW_REFUSE, FLOW_BY_ADDRESS, FLOW_BY_NAME };
enum flow_verdict flow_decide(const struct policy *p, const char *name, uint32_t ip, uint16_t port);
