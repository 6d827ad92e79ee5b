/* SPDX-License-Identifier: Apache-2.0 */
/* share: limits the loop's time that one tenant can take, whatever it sends.
 *
 * All work for one tenant (a sandbox, with all connections to it) belongs to one share. The members of a share
 * do not act when their fds are ready; they queue for a turn. After each poll the active shares are served round
 * robin, each for a slice of time, and all together for a few slices; then the loop polls again. So work that
 * belongs to no share (API requests, new connections, timers, the other daemons) waits for a few slices at most,
 * and one tenant waits for one slice of each other tenant, however many connections that one has.
 *
 * CPU time is counted, not bytes: it is the common measure for short frames, long ones, TLS and parsers. One
 * piece of work is never interrupted. If it takes longer than a slice, its share is in debt and is skipped until
 * the others have had as much. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

struct loop;
struct share;

struct share_member {                          /* embedded in its owner */
	struct share *share;                   /* NULL: no share */
	void (*serve)(struct share_member *m); /* one piece of work; may queue again, leave, or free its owner later */
	LIST_ENTRY(share_member) all;
	TAILQ_ENTRY(share_member) queue;
	bool waits;
};

struct share { /* embedded in its owner */
	struct loop *loop;
	LIST_HEAD(, share_member) members;
	TAILQ_HEAD(, share_member) queue; /* members that wait for a turn, in order */
	TAILQ_ENTRY(share) turn;
	bool active;        /* in the loop's list: a member waits */
	int64_t credit_us;  /* below 0: it has used more than its slice */
	uint64_t served_us; /* CPU time of the loop's thread when it was last served */
};

TAILQ_HEAD(share_list, share);

struct shares { /* of one loop */
	struct share_list active;
	struct share *serving; /* NULL: none, or it was freed */
	uint64_t spent_us;     /* in this round, by all shares */
	unsigned exact;        /* pieces of work whose CPU time is read, see share.c */
};

void share_init(struct share *sh, struct loop *l);
void share_done(struct share *sh); /* its members belong to no share from now on */

void share_join(struct share_member *m, struct share *sh); /* leaves the previous share; NULL: only that */
void share_ask(struct share_member *m);                    /* queues for a turn; only in a share */

/* Called by the loop: serves the active shares for a while. */
void shares_serve(struct shares *all);
struct shares *loop_shares(struct loop *l);
