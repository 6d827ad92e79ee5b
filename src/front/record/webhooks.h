/* SPDX-License-Identifier: Apache-2.0 */
/* front/record/webhooks: webhooks of teams, and their deliveries.
 *
 * The queue is in the store, so a delivery that was not acknowledged is tried again even after a crash. Each
 * webhook gets its events in order, one at a time: a failed delivery is retried later, and those behind it wait
 * until it succeeds or is given up. atoll-webhooks makes the HTTP requests (ipc/webhooks.h). */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/buf.h"
#include "base/err.h"
#include "front/record/events.h"
#include "store/teams.h"

struct records;
struct webhooks;

#define WEBHOOKS_PER_TEAM 20
#define WEBHOOK_WAITING_MAX 10000 /* waiting deliveries per webhook; beyond that, events are not queued */
#define WEBHOOK_SECRET_MAX 256

struct webhook {
	TAILQ_ENTRY(webhook) link;
	char id[TEAM_ID_SIZE], team[TEAM_ID_SIZE];
	char *name, *url;
	bool enabled;
	uint32_t events;   /* a bit for each enum event_type */
	struct buf sealed; /* encrypted secret that signs its deliveries */
	uint64_t created_ms;
	uint64_t waiting;      /* number of waiting deliveries */
	uint32_t seq;          /* of the job in progress; 0: none */
	uint64_t row;          /* its row */
	uint32_t attempts;     /* number of earlier attempts */
	uint64_t next_mono_ms; /* no attempt before this time */
};

TAILQ_HEAD(webhook_list, webhook);

struct webhooks *webhooks_new(struct records *rs);
int webhooks_load(struct webhooks *h, struct err *e); /* loads the store */
void webhooks_link(struct webhooks *h, int fd);       /* a socket to atoll-webhooks, owned */
void webhooks_free(struct webhooks *h);               /* NULL is fine */

struct webhook *webhook_find(const struct webhooks *h, const char *team, const char *id); /* or NULL */
/* w NULL: the first. */
struct webhook *webhook_next(const struct webhooks *h, const char *team, const struct webhook *w);
size_t webhook_count(const struct webhooks *h, const char *team);

/* Adds or changes a webhook: writes *w to the store; webhook_add() takes ownership. secret NULL: unchanged.
 * Returns -errno. */
int webhook_add(struct webhooks *h, struct webhook *w, const char *secret, struct err *e);
int webhook_set(struct webhooks *h, struct webhook *w, const char *secret, struct err *e);
int webhook_drop(struct webhooks *h, struct webhook *w, struct err *e);
void webhook_free(struct webhook *w);                       /* for one that was never added; NULL is fine */
void webhooks_forget(struct webhooks *h, const char *team); /* the store has deleted those of the team already */

/* Queues the event for all webhooks that subscribe to it. */
void webhooks_push(struct webhooks *h, const char *team, enum event_type t, uint64_t event_seq);
/* Returns -EDQUOT or -EIO. */
int webhooks_push_one(struct webhooks *h, struct webhook *w, uint64_t event_seq, char ret_id[TEAM_ID_SIZE]);
uint64_t webhooks_waiting(const struct webhooks *h); /* of all webhooks */

/* base64url(sha256(secret body)), the signature of E2B. */
#define WEBHOOK_SIGNATURE_SIZE 48
void webhook_sign(struct str secret, struct str body, char ret[WEBHOOK_SIGNATURE_SIZE]);

/* Delay after that many failed attempts: base_ms, four times that, and so on, up to one hour. The random number
 * `chance` reduces it by up to half. */
uint64_t webhook_backoff_ms(uint32_t base_ms, uint32_t attempts, uint32_t chance);
