/* SPDX-License-Identifier: Apache-2.0 */
/* share: deficit round robin over tenants, by CPU time.
 *
 * Reading the CPU time is a system call, reading the monotonic clock is none. What a piece of work takes by that clock
 * is at least its CPU time, so a short piece is charged with it. If a piece takes longer than a slice, the thread may
 * have been preempted: it is charged with a slice, and for the next pieces the CPU time is read. */
#include "loop/share.h"

#include "base/clock.h"
#include "loop/loop.h"

#define SLICE_US 1000 /* of one share, before the next one's turn */
#define SERVE_US 4000 /* of all shares, before the loop polls again */
#define EXACT 16      /* pieces after one that took longer than a slice */

void share_init(struct share *sh, struct loop *l)
{
	*sh = (struct share) { .loop = l };
	LIST_INIT(&sh->members);
	TAILQ_INIT(&sh->queue);
}

static void deactivate(struct share *sh)
{
	if (sh->active)
		TAILQ_REMOVE(&loop_shares(sh->loop)->active, sh, turn);
	sh->active = false;
}

/* CPU time that others have used meanwhile also reduces a debt. Credit does not accumulate. */
static void activate(struct share *sh)
{
	if (sh->credit_us < 0) {
		int64_t since_us = (int64_t)(clock_cpu_us() - sh->served_us);

		sh->credit_us = since_us < -sh->credit_us ? sh->credit_us + since_us : 0;
	} else {
		sh->credit_us = 0;
	}
	TAILQ_INSERT_TAIL(&loop_shares(sh->loop)->active, sh, turn);
	sh->active = true;
}

static void stop_waiting(struct share_member *m)
{
	if (!m->waits)
		return;
	TAILQ_REMOVE(&m->share->queue, m, queue);
	m->waits = false;
	if (TAILQ_EMPTY(&m->share->queue))
		deactivate(m->share);
}

void share_join(struct share_member *m, struct share *sh)
{
	if (m->share == sh)
		return;
	if (m->share) {
		stop_waiting(m);
		LIST_REMOVE(m, all);
	}
	m->share = sh;
	if (sh)
		LIST_INSERT_HEAD(&sh->members, m, all);
}

void share_done(struct share *sh)
{
	struct share_member *m;

	while ((m = LIST_FIRST(&sh->members)))
		share_join(m, NULL);
	if (loop_shares(sh->loop)->serving == sh)
		loop_shares(sh->loop)->serving = NULL;
}

void share_ask(struct share_member *m)
{
	if (m->waits)
		return;
	m->waits = true;
	TAILQ_INSERT_TAIL(&m->share->queue, m, queue);
	if (!m->share->active)
		activate(m->share);
}

/* Does one piece of work, and returns what its share is charged with. */
static uint64_t do_piece(struct shares *all, struct share_member *m, uint64_t *now_us)
{
	uint64_t from_us = *now_us, cpu_us = all->exact ? clock_cpu_us() : 0;

	stop_waiting(m);
	m->serve(m);
	*now_us = clock_mono_us();
	if (all->exact)
		all->exact--;
	if (*now_us - from_us <= SLICE_US)
		return *now_us - from_us;
	all->exact = EXACT;
	return cpu_us ? clock_cpu_us() - cpu_us : SLICE_US;
}

/* False: nothing is left, or the share was freed by its piece of work. */
static bool serve_piece(struct shares *all, struct share *sh, uint64_t *now_us)
{
	uint64_t used_us = do_piece(all, TAILQ_FIRST(&sh->queue), now_us);

	all->spent_us += used_us + 1;
	if (all->serving != sh)
		return false;
	sh->credit_us -= (int64_t)used_us + 1;
	if (sh->credit_us < 0)
		sh->served_us = clock_cpu_us();
	return sh->active;
}

/* Serves one slice of the first share in the list, and moves it to the end. */
static void serve_slice(struct shares *all, uint64_t *now_us)
{
	struct share *sh = TAILQ_FIRST(&all->active);

	TAILQ_REMOVE(&all->active, sh, turn);
	TAILQ_INSERT_TAIL(&all->active, sh, turn);
	sh->credit_us += SLICE_US;
	all->serving = sh;
	while (sh->credit_us > 0 && serve_piece(all, sh, now_us))
		;
	all->serving = NULL;
}

void shares_serve(struct shares *all)
{
	if (TAILQ_EMPTY(&all->active))
		return;
	uint64_t now_us = clock_mono_us();

	all->spent_us = 0;
	while (!TAILQ_EMPTY(&all->active) && all->spent_us < SERVE_US)
		serve_slice(all, &now_us);
}
