/* SPDX-License-Identifier: Apache-2.0 */
/* flow: one diverted connection, from its first byte to its end.
 *
 *	SNIFF ── a name, or none ──▶ (decide) ── by name or address ──▶ CONNECT ──▶ PASS
 *	                                └── refused: reset
 *
 * A name that the policy allows is resolved here; the destination address that the sandbox used does not matter. A
 * connection that is allowed by its address goes to that address. Plain HTTP is parsed request by request. TLS is
 * relayed without decryption, except for hosts whose requests are changed: there the flow is the server for the
 * sandbox, with a certificate of the sandbox's authority, and a client of the host, whose certificate is verified. */
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
	void (*on_gone)(void *user); /* a flow has ended, or could not be created */
	void *user;
};

/* Owns fd, also on failure (-ENOMEM). The flow removes itself from the client's list when it ends. */
int flow_new(const struct flow_env *env, struct client *c, int fd, uint32_t dst_ip, uint16_t dst_port);
void flow_free(struct flow *f);               /* the sandbox's connection is reset */
struct flow *flow_next(const struct flow *f); /* of the same client */
bool flow_still_allowed(const struct flow *f);

/* The policy's verdict on a connection. name "": none was found. */
enum flow_verdict { FLOW_REFUSE, FLOW_BY_ADDRESS, FLOW_BY_NAME };
enum flow_verdict flow_decide(const struct policy *p, const char *name, uint32_t ip, uint16_t port);
