/* SPDX-License-Identifier: Apache-2.0 */
/* share: nobody takes more of the loop's time than his share, whatever he sends.
 *
 * What is done for one tenant (a sandbox, with all the connections that lead into it) belongs to one share. Its
 * members do not act when their fds are ready; they ask for their turn. After each poll the shares that have
 * asked are served in turns, each for a slice of time, and all of them together for a few slices; then the loop
 * polls again. So what belongs to no share (requests to the API, new connections, timers, the other daemons)
 * waits for a few slices at most, and one tenant waits for one slice of each other tenant, however many
 * connections that one has.
 *
 * Time of the processor is what is counted, not bytes: it is what a short frame, a long one, TLS and a parser
 * have in common. One piece of work is never interrupted; if it takes longer than a slice its share is in debt,
 * and is passed over until the others have had as much. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

struct loop;
struct share;

struct share_member {                          /* part of its owner */
	struct share *share;                   /* NULL: of nobody */
	void (*serve)(struct share_member *m); /* one piece of work; may ask again, leave, or free its owner later */
	LIST_ENTRY(share_member) all;
	TAILQ_ENTRY(share_member) queue;
	bool waits;
};

struct share { /* part of its owner */
	struct loop *loop;
	LIST_HEAD(, share_member) members;
	TAILQ_HEAD(, share_member) queue; /* those who have asked, in that order */
	TAILQ_ENTRY(share) turn;
	bool active;        /* it is in the loop's list: somebody waits */
	int64_t credit_us;  /* below 0: it has had more than its slice */
	uint64_t served_us; /* what the loop's thread had used of the processor when it was last served */
};

TAILQ_HEAD(share_list, share);

struct shares { /* of a loop */
	struct share_list active;
	struct share *serving; /* NULL: none, or it is gone */
};

void share_init(struct share *sh, struct loop *l);
void share_done(struct share *sh); /* its members are nobody's from now on */

void share_join(struct share_member *m, struct share *sh); /* leaves the one it was in; NULL: only that */
void share_ask(struct share_member *m);                    /* only in a share */

/* For the loop: serves those who wait, for a while. */
void shares_serve(struct shares *all);
struct shares *loop_shares(struct loop *l);
