/* SPDX-License-Identifier: Apache-2.0 */
/* front/record/audit_acts: what is recorded in the audit trail about sandboxes, and as what. For requests of the
 * control API see front/api/audit_request.h. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct http_req;
struct fe_refused;
struct msg_blocked;
struct msg_exited;
struct msg_refused;
struct records;
struct sandbox_facts;

/* A signed URL that no sandbox has signed. */
void audit_signature(struct records *rs, const struct http_req *rq, const char *request, const char *why);
/* A wrong token. */
void audit_door(struct records *rs, const struct sandbox_facts *sb, const struct http_req *rq, const char *request,
    uint16_t port, const char *why);
/* sandbox.started, sandbox.paused, ... */
void audit_life(struct records *rs, const struct sandbox_facts *sb, const char *kind);
/* started: false if its start failed. memory_peak: in bytes. */
void audit_ended(struct records *rs, const struct sandbox_facts *sb, bool started, uint64_t memory_peak,
    const char *reason);
/* It ended while the front was down. */
void audit_lost(struct records *rs, const char *id, const char *team, const char *reason);
/* Total use of the sandbox, at its end. */
void audit_used(struct records *rs, const char *team, const char *key, const struct msg_exited *m);
void audit_syscall(struct records *rs, const struct sandbox_facts *sb, const struct msg_refused *m);
/* Refused by the firewall. */
void audit_blocked(struct records *rs, const struct sandbox_facts *sb, const struct msg_blocked *m, const char *proto);
/* Refused by atoll-egress. */
void audit_egress(struct records *rs, const struct sandbox_facts *sb, const struct fe_refused *m);
