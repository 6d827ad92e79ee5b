/* SPDX-License-Identifier: Apache-2.0 */
/* front/record/webhooks: webhooks of teams, and what is to be delivered to them.
 *
 * The queue is in the store: whatever ends when, a delivery that was not acknowledged is tried again. Each webhook gets
 * its events one at a time and in order: one that fails is tried again later, and those behind it wait, until it is
 * given up. The work itself is done by atoll-webhooks (ipc/webhooks.h). */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/buf.h"
#include "base/err.h"
#include "front/record/events.h"
#include "store/teams.h"

struct front;
struct webhooks;

#define WEBHOOKS_PER_TEAM 20
#define WEBHOOK_WAITING_MAX 10000 /* deliveries of one; beyond that events are not queued for it */
#define WEBHOOK_SECRET_MAX 256

struct webhook {
	TAILQ_ENTRY(webhook) link;
	char id[TEAM_ID_SIZE], team[TEAM_ID_SIZE];
	char *name, *url;
	bool enabled;
	uint32_t events;   /* a bit for each enum event_type */
	struct buf sealed; /* what its deliveries are signed with */
	uint64_t created_ms;
	uint64_t waiting;      /* deliveries */
	uint32_t seq;          /* of the job under way; 0: none is */
	uint64_t row;          /* ... its row, */
	uint32_t attempts;     /* ... and how often it had been tried before */
	uint64_t next_mono_ms; /* not before that */
};

TAILQ_HEAD(webhook_list, webhook);

struct webhooks *webhooks_new(struct front *f);
int webhooks_load(struct webhooks *h, struct err *e); /* from the store */
void webhooks_link(struct webhooks *h, int fd);       /* a socket to atoll-webhooks, owned */
void webhooks_free(struct webhooks *h);               /* NULL is fine */

struct webhook *webhook_find(const struct webhooks *h, const char *team, const char *id); /* NULL */
/* NULL: the first */
struct webhook *webhook_next(const struct webhooks *h, const char *team, const struct webhook *w);
size_t webhook_count(const struct webhooks *h, const char *team);

/* Made or changed: *w is written to the store; a new one is taken. secret: NULL leaves it as it is. -errno */
int webhook_add(struct webhooks *h, struct webhook *w, const char *secret, struct err *e);
int webhook_set(struct webhooks *h, struct webhook *w, const char *secret, struct err *e);
int webhook_drop(struct webhooks *h, struct webhook *w, struct err *e);
void webhook_free(struct webhook *w);                       /* one that was never added; NULL is fine */
void webhooks_forget(struct webhooks *h, const char *team); /* the store has done so */

/* to all that want it */
void webhooks_push(struct webhooks *h, const char *team, enum event_type t, uint64_t event_seq);
/* -EDQUOT, -EIO */
int webhooks_push_one(struct webhooks *h, struct webhook *w, uint64_t event_seq, char ret_id[TEAM_ID_SIZE]);
uint64_t webhooks_waiting(const struct webhooks *h); /* of all */

/* base64url(sha256(secret body)), as E2B signs. */
#define WEBHOOK_SIGNATURE_SIZE 48
void webhook_sign(struct str secret, struct str body, char ret[WEBHOOK_SIGNATURE_SIZE]);

/* How long to wait after so many failed attempts: base, four times that, ... up to an hour; chance takes up to half of
 * it away. */
uint64_t webhook_backoff_ms(uint32_t base_ms, uint32_t attempts, uint32_t chance);
