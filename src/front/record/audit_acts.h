/* SPDX-License-Identifier: Apache-2.0 */
/* front/record/audit_acts: what of the front's own doings goes into the audit trail, and in which words. */
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

/* it is about to be answered with r->status; of those that change something */
void audit_request(struct req *r);
void audit_auth_failed(struct req *r, const char *why); /* a wrong key, or none, or one that may not */
void audit_rate(struct req *r);                         /* refused: too many requests */
/* a signed URL of no sandbox */
void audit_signature(struct front *f, const struct http_req *rq, const char *request, const char *why);
/* a wrong token; sb: NULL if of none */
void audit_door(struct sandbox *sb, const struct http_req *rq, const char *request, uint16_t port, const char *why);
void audit_life(struct sandbox *sb, const char *kind); /* sandbox.started, sandbox.paused, ... */
void audit_ended(struct sandbox *sb, const char *reason);
/* it has ended while there was no server */
void audit_lost(struct front *f, const char *id, const char *team, const char *reason);
/* in all of its life */
void audit_used(struct front *f, const char *team, const char *key, const struct msg_exited *m);
void audit_syscall(struct sandbox *sb, const struct msg_refused *m);
void audit_blocked(struct sandbox *sb, const struct msg_blocked *m, const char *proto); /* the firewall refused it */
void audit_egress(struct sandbox *sb, const struct fe_refused *m); /* it tried to reach what it may not */
