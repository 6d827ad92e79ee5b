/* SPDX-License-Identifier: Apache-2.0 */
/* front/link/start_queue: teams in turn, the keys of a team in turn, the starts of a key in order. */
#include "front/link/start_queue.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "front/util/mem.h"
#include "loop/loop.h"

struct start_team;

struct start_flow { /* the starts of one key that wait; exists while there are any */
	TAILQ_ENTRY(start_flow) link;
	struct start_team *team;
	struct start_tickets tickets; /* oldest first */
	char key[];
};

struct start_team { /* the same for a team */
	TAILQ_ENTRY(start_team) link;
	TAILQ_HEAD(, start_flow) flows; /* the next one first */
	uint32_t n;                     /* tickets of all flows */
	char id[];
};

struct start_queue {
	TAILQ_HEAD(, start_team) teams; /* the next one first */
	struct start_tickets idle;      /* no client waits for these */
	struct start_tickets over;      /* their owners are notified by the timer */
	struct timer *timer;
	uint32_t builders, sent, waiting;
	uint64_t refused;
	bool stopped;
};

static struct start_team *team_get(struct start_queue *q, const char *id)
{
	struct start_team *te;
	size_t n = strlen(id) + 1;

	TAILQ_FOREACH(te, &q->teams, link)
	{
		if (strcmp(te->id, id) == 0)
			return te;
	}
	te = must_alloc(sizeof *te + n);
	memcpy(te->id, id, n);
	TAILQ_INIT(&te->flows);
	TAILQ_INSERT_TAIL(&q->teams, te, link);
	return te;
}

static struct start_flow *flow_get(struct start_team *te, const char *key)
{
	struct start_flow *fl;
	size_t n = strlen(key) + 1;

	TAILQ_FOREACH(fl, &te->flows, link)
	{
		if (strcmp(fl->key, key) == 0)
			return fl;
	}
	fl = must_alloc(sizeof *fl + n);
	memcpy(fl->key, key, n);
	fl->team = te;
	TAILQ_INIT(&fl->tickets);
	TAILQ_INSERT_TAIL(&te->flows, fl, link);
	return fl;
}

/* Takes a ticket out of its list; frees a flow and a team that are empty then. */
static void unlink_waiting(struct start_queue *q, struct start_ticket *t)
{
	struct start_flow *fl = t->flow;

	if (!fl) {
		TAILQ_REMOVE(&q->idle, t, link);
		return;
	}
	struct start_team *te = fl->team;

	t->flow = NULL;
	TAILQ_REMOVE(&fl->tickets, t, link);
	te->n--;
	q->waiting--;
	if (TAILQ_EMPTY(&fl->tickets)) {
		TAILQ_REMOVE(&te->flows, fl, link);
		free(fl);
	}
	if (te->n == 0) {
		TAILQ_REMOVE(&q->teams, te, link);
		free(te);
	}
}

/* Takes the ticket whose turn it is. Its team and its key go behind the others. */
static struct start_ticket *take_next(struct start_queue *q)
{
	struct start_team *te = TAILQ_FIRST(&q->teams);
	struct start_ticket *t;

	if (te) {
		struct start_flow *fl = TAILQ_FIRST(&te->flows);

		t = TAILQ_FIRST(&fl->tickets);
		TAILQ_REMOVE(&te->flows, fl, link);
		TAILQ_INSERT_TAIL(&te->flows, fl, link);
		TAILQ_REMOVE(&q->teams, te, link);
		TAILQ_INSERT_TAIL(&q->teams, te, link);
	} else {
		t = TAILQ_FIRST(&q->idle);
	}
	if (t)
		unlink_waiting(q, t);
	return t;
}

static void serve(struct start_queue *q)
{
	struct start_ticket *t;

	while (!q->stopped && q->sent < q->builders && (t = take_next(q))) {
		t->state = TICKET_SENT;
		q->sent++;
		t->send(t);
	}
}

/* --- refusing --- */

static void on_over(void *user)
{
	struct start_queue *q = user;
	struct start_ticket *t;

	while ((t = TAILQ_FIRST(&q->over))) {
		TAILQ_REMOVE(&q->over, t, link);
		t->state = TICKET_IDLE;
		t->over(t, t->no, t->text);
	}
}

/* The caller may be inside of the call that began the start, so the owner is notified later. */
static void end_later(struct start_queue *q, struct start_ticket *t, int no, const char *text)
{
	t->state = TICKET_OVER;
	t->no = no;
	t->text = text;
	TAILQ_INSERT_TAIL(&q->over, t, link);
	timer_arm(q->timer, 0);
}

/* The queue is one too long: refuses the newest start of the team that has most of them. Teams that have as many as
 * the one that came last are spared. */
static void refuse_one(struct start_queue *q, struct start_team *newest)
{
	struct start_team *most = newest, *te;
	struct start_ticket *t = NULL;
	struct start_flow *fl, *longest = NULL;
	uint32_t n_longest = 0;

	TAILQ_FOREACH(te, &q->teams, link)
	{
		if (te->n > most->n)
			most = te;
	}
	TAILQ_FOREACH(fl, &most->flows, link)
	{
		uint32_t n = 0;

		TAILQ_FOREACH(t, &fl->tickets, link)
		n++;
		if (n >= n_longest) {
			n_longest = n;
			longest = fl;
		}
	}
	t = TAILQ_LAST(&longest->tickets, start_tickets);
	unlink_waiting(q, t);
	q->refused++;
	end_later(q, t, EAGAIN, "too many sandboxes are waiting to be started: try again later");
}

/* --- tickets --- */

void start_queue_enter(struct start_queue *q, struct start_ticket *t, const char *team, const char *key)
{
	if (!q) {
		t->state = TICKET_SENT;
		t->send(t);
		return;
	}
	t->state = TICKET_WAITS;
	if (!team) {
		t->flow = NULL;
		TAILQ_INSERT_TAIL(&q->idle, t, link);
		serve(q);
		return;
	}
	t->flow = flow_get(team_get(q, team), key);
	TAILQ_INSERT_TAIL(&t->flow->tickets, t, link);
	t->flow->team->n++;
	q->waiting++;
	if (q->waiting > q->builders * START_QUEUE_PER_BUILDER)
		refuse_one(q, t->flow->team);
	serve(q);
}

void start_queue_withdraw(struct start_queue *q, struct start_ticket *t)
{
	if (!q || t->state != TICKET_WAITS)
		return;
	unlink_waiting(q, t);
	end_later(q, t, ECANCELED, "cancelled");
}

void start_queue_leave(struct start_queue *q, struct start_ticket *t)
{
	enum ticket_state was = t->state;

	t->state = TICKET_IDLE;
	if (!q)
		return;
	if (was == TICKET_WAITS)
		unlink_waiting(q, t);
	else if (was == TICKET_OVER)
		TAILQ_REMOVE(&q->over, t, link);
	else if (was == TICKET_SENT)
		q->sent--;
	serve(q);
}

struct start_queue *start_queue_new(struct loop *l, uint32_t builders)
{
	struct start_queue *q = must_alloc(sizeof *q);

	TAILQ_INIT(&q->teams);
	TAILQ_INIT(&q->idle);
	TAILQ_INIT(&q->over);
	q->builders = builders ? builders : 1;
	q->timer = timer_new(l, on_over, q);
	if (!q->timer) {
		free(q);
		return NULL;
	}
	return q;
}

void start_queue_free(struct start_queue *q)
{
	if (!q)
		return;
	timer_free(q->timer);
	free(q);
}

void start_queue_stop(struct start_queue *q)
{
	if (q)
		q->stopped = true;
}

uint32_t start_queue_builders(const struct start_queue *q)
{
	return q ? q->builders : 0;
}

uint32_t start_queue_waiting(const struct start_queue *q)
{
	return q ? q->waiting : 0;
}

uint64_t start_queue_refused(const struct start_queue *q)
{
	return q ? q->refused : 0;
}
