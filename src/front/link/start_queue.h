/* SPDX-License-Identifier: Apache-2.0 */
/* front/link/start_queue: which start the warden gets next.
 *
 * The warden builds a few sandboxes at a time and serves what it is sent in order. It knows neither teams nor keys,
 * so the front holds the others back and sends one for each that has ended: a team at a time, of each team a key at a
 * time, of each key the oldest. A burst of one team thus delays a start of another team by the starts that the warden
 * already has. Starts that no client waits for, of the warm pool, are sent when no other one waits.
 *
 * At most START_QUEUE_PER_BUILDER starts per builder wait. The next one is refused, or, if another team has more of
 * them waiting, the newest start of that team. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#define START_QUEUE_PER_BUILDER 256

struct loop;
struct start_flow;
struct start_queue;

enum ticket_state { TICKET_IDLE, TICKET_WAITS, TICKET_SENT, TICKET_OVER };

struct start_ticket { /* embedded in what is to be started */
	TAILQ_ENTRY(start_ticket) link;
	struct start_flow *flow; /* with TICKET_WAITS; NULL: no client waits for it */
	enum ticket_state state;
	int no;                               /* with TICKET_OVER */
	const char *text;                     /* the same */
	void (*send)(struct start_ticket *t); /* called once it is its turn, also from start_queue_enter() */
	/* It was refused or withdrawn, and never sent. Called from the loop; it may leave or free the ticket. */
	void (*over)(struct start_ticket *t, int no, const char *text);
};

TAILQ_HEAD(start_tickets, start_ticket);

/* builders: how many starts the warden works on at a time. NULL: out of memory. */
struct start_queue *start_queue_new(struct loop *l, uint32_t builders);
void start_queue_free(struct start_queue *q); /* after all tickets have left; q may be NULL, here and below */
void start_queue_stop(struct start_queue *q); /* nothing is sent from now on: the front exits */

/* team NULL: no client waits for it. Without a queue the ticket is sent at once. */
void start_queue_enter(struct start_queue *q, struct start_ticket *t, const char *team, const char *key);
void start_queue_withdraw(struct start_queue *q, struct start_ticket *t); /* if it waits: ends it with ECANCELED */
void start_queue_leave(struct start_queue *q, struct start_ticket *t);    /* it was answered, or is about to be freed */

uint32_t start_queue_builders(const struct start_queue *q); /* 0 without a queue */
uint32_t start_queue_waiting(const struct start_queue *q);  /* those that clients wait for */
uint64_t start_queue_refused(const struct start_queue *q);  /* since the front has started */
