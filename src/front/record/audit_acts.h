/* SPDX-License-Identifier: Apache-2.0 */
/* front/record/audit_acts: which actions of the front are recorded in the audit trail, and as what. */
#pragma once

#include <stdint.h>

struct front;
struct http_req;
struct fe_refused;
struct msg_blocked;
struct msg_exited;
struct msg_refused;
struct req;
struct sandbox;

/* Called before an answer with r->status is sent, for requests that change something. */
void audit_request(struct req *r);
void audit_auth_failed(struct req *r, const char *why); /* the key is wrong, missing or not sufficient */
void audit_rate(struct req *r);                         /* refused: rate limit */
/* A signed URL that no sandbox has signed. */
void audit_signature(struct front *f, const struct http_req *rq, const char *request, const char *why);
/* A wrong token; sb: NULL if there is no such sandbox. */
void audit_door(struct sandbox *sb, const struct http_req *rq, const char *request, uint16_t port, const char *why);
void audit_life(struct sandbox *sb, const char *kind); /* sandbox.started, sandbox.paused, ... */
void audit_ended(struct sandbox *sb, const char *reason);
/* It ended while the front was down. */
void audit_lost(struct front *f, const char *id, const char *team, const char *reason);
/* Total use of the sandbox, at its end. */
void audit_used(struct front *f, const char *team, const char *key, const struct msg_exited *m);
void audit_syscall(struct sandbox *sb, const struct msg_refused *m);
void audit_blocked(struct sandbox *sb, const struct msg_blocked *m, const char *proto); /* refused by the firewall */
void audit_egress(struct sandbox *sb, const struct fe_refused *m);                      /* refused by atoll-egress */
