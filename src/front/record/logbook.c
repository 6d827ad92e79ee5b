/* SPDX-License-Identifier: Apache-2.0 */
/* front/record/logbook: tails in memory, chunks in the store. */
#include "front/record/logbook.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/queue.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "front/link/links.h"
#include "front/record/records.h"
#include "front/util/mem.h"
#include "ipc/msg.h"
#include "loop/loop.h"
#include "store/db.h"
#include "store/logs.h"
#include "store/teams.h"

#define SAVE_AFTER_MS 3000 /* after the first new entry of a sandbox */
#define SAVE_EVERY_MS 250  /* while there are dirty tails */
#define SAVE_BATCH 64      /* tails per write, so that the loop is not blocked for long */
#define TRIM_BATCH 10
#define TRIM_MS 50
#define READ_MAX (2 * LOGBOOK_EACH_MAX)

struct log_tail {
	struct logbook *book;
	TAILQ_ENTRY(log_tail) dirty; /* while is_dirty */
	bool is_dirty;
	bool placed; /* place is valid */
	char id[ID_SIZE], team[TEAM_ID_SIZE];
	struct journal fresh; /* entries not in the store yet */
	uint64_t since_ms;    /* time of the first of them */
	uint64_t ended_ms;    /* 0: the sandbox still exists */
	struct log_place place;
};

struct logbook {
	struct records *rs;
	TAILQ_HEAD(, log_tail) dirty; /* the oldest first */
	struct timer *timer;
	uint64_t bytes; /* in the store */
	bool failing;   /* already logged */
};

static void tail_free(struct log_tail *t)
{
	if (t->is_dirty)
		TAILQ_REMOVE(&t->book->dirty, t, dirty);
	journal_done(&t->fresh);
	free(t);
}

/* Deletes the old half when the new one is full. */
static int turn_over(struct log_tail *t, struct err *e)
{
	struct logbook *b = t->book;
	struct log_place *p = &t->place;

	if (logs_drop_before(b->rs->link->store, t->id, p->gen, e) < 0)
		return -e->no;
	b->bytes -= p->old_bytes < b->bytes ? p->old_bytes : b->bytes;
	*p = (struct log_place) { .gen = p->gen + 1, .old_bytes = p->gen_bytes };
	return 0;
}

static int write_tail(struct log_tail *t, struct str bytes, struct err *e)
{
	struct store *s = t->book->rs->link->store;

	if (!t->placed && logs_place(s, t->id, &t->place, e) < 0)
		return -e->no;
	t->placed = true;
	if (t->place.gen_bytes + bytes.n > LOGBOOK_EACH_MAX / 2 && turn_over(t, e) < 0)
		return -e->no;
	if (logs_add(s, t->id, t->team, bytes, &t->place, t->ended_ms, e) < 0)
		return -e->no;
	t->book->bytes += bytes.n;
	return 0;
}

/* Frees t if its sandbox has ended. */
static void save(struct log_tail *t)
{
	struct logbook *b = t->book;
	autobuf struct buf bytes = BUF_INIT(JOURNAL_MAX);
	struct err e;

	journal_take(&t->fresh, &bytes);
	TAILQ_REMOVE(&b->dirty, t, dirty);
	t->is_dirty = false;

	int r = write_tail(t, buf_view(&bytes), &e);

	if (r < 0 && !b->failing)
		log_error("could not write the logs of sandboxes: they are lost", "err=%s", e.text);
	b->failing = r < 0;
	if (t->ended_ms)
		tail_free(t);
}

/* Logs of existing sandboxes stay: they have a limit each. The work per call is limited; the next call continues. */
static void keep_to_limit(struct logbook *b)
{
	uint64_t max = (uint64_t)b->rs->link->opt.logs_max_mb << 20, until_ms = clock_mono_ms() + TRIM_MS, freed;
	struct err e;

	while (b->bytes > max && clock_mono_ms() < until_ms) {
		int n = logs_prune_oldest(b->rs->link->store, TRIM_BATCH, &freed, &e);

		if (n <= 0)
			break;
		b->bytes -= freed < b->bytes ? freed : b->bytes;
	}
}

static void save_some(struct logbook *b, size_t max, uint64_t age_ms)
{
	struct log_tail *t = TAILQ_FIRST(&b->dirty);
	uint64_t now_ms = loop_now_ms(b->rs->link->loop);
	struct err e;

	if (!t || now_ms - t->since_ms < age_ms || logs_begin(b->rs->link->store, &e) < 0)
		return;
	for (size_t i = 0; i < max && (t = TAILQ_FIRST(&b->dirty)) && now_ms - t->since_ms >= age_ms; i++)
		save(t);
	if (logs_commit(b->rs->link->store, &e) < 0)
		log_error("could not write the logs of sandboxes", "err=%s", e.text);
	keep_to_limit(b);
}

static void on_timer(void *user)
{
	struct logbook *b = user;

	save_some(b, SAVE_BATCH, SAVE_AFTER_MS);
	if (!TAILQ_EMPTY(&b->dirty))
		timer_arm(b->timer, SAVE_EVERY_MS);
}

struct logbook *logbook_new(struct records *rs)
{
	struct logbook *b = must_alloc(sizeof *b);
	struct err e;

	b->rs = rs;
	TAILQ_INIT(&b->dirty);
	b->timer = timer_new(rs->link->loop, on_timer, b);
	if (!b->timer || logs_bytes(rs->link->store, &b->bytes, &e) < 0) {
		logbook_free(b);
		return NULL;
	}
	return b;
}

void logbook_save(struct logbook *b)
{
	if (b)
		save_some(b, SIZE_MAX, 0);
}

void logbook_free(struct logbook *b)
{
	struct log_tail *t;

	if (!b)
		return;
	while ((t = TAILQ_FIRST(&b->dirty))) /* tails of ended sandboxes have no other owner */
		tail_free(t);
	timer_free(b->timer);
	free(b);
}

struct log_tail *logbook_open(struct logbook *b, const char *id, const char *team, bool is_new)
{
	struct log_tail *t = must_alloc(sizeof *t);

	t->book = b;
	t->placed = is_new;
	(void)str_copy(t->id, sizeof t->id, str_of(id));
	(void)str_copy(t->team, sizeof t->team, str_of(team));
	return t;
}

static void mark(struct log_tail *t)
{
	struct logbook *b = t->book;

	if (t->is_dirty)
		return;
	if (TAILQ_EMPTY(&b->dirty))
		timer_arm(b->timer, SAVE_EVERY_MS);
	TAILQ_INSERT_TAIL(&b->dirty, t, dirty);
	t->is_dirty = true;
	t->since_ms = loop_now_ms(b->rs->link->loop);
}

void logbook_add(struct log_tail *t, const struct journal_entry *en)
{
	journal_add(&t->fresh, en);
	mark(t);
	if (t->fresh.n > JOURNAL_MAX / 2) /* before older entries are overwritten; one write for hundreds of entries */
		save(t);
}

void logbook_end(struct log_tail *t, uint64_t now_wall_ms)
{
	if (!t)
		return;
	t->ended_ms = now_wall_ms;
	mark(t);
}

void logbook_drop(struct log_tail *t)
{
	if (t)
		tail_free(t);
}

static uint64_t oldest_end_ms(const struct logbook *b)
{
	return clock_wall_ms() - b->rs->link->opt.logs_kept_s * 1000ull;
}

static void take_piece(void *user, struct str bytes)
{
	bytes.n = journal_check(bytes); /* nothing after a damaged entry can be read */
	buf_str(user, bytes);
}

int logbook_read(struct logbook *b, struct str id, const char *team, struct journal *ret, struct err *e)
{
	autobuf struct buf all = BUF_INIT(READ_MAX);
	struct log_tail *t;

	TAILQ_FOREACH(t, &b->dirty, dirty)
	{
		if (str_is(id, t->id)) {
			save(t);
			break;
		}
	}
	if (logs_read(b->rs->link->store, id, team, oldest_end_ms(b), take_piece, &all, e) < 0)
		return -e->no;
	if (all.bad)
		return err_set(e, EFBIG, "the log is too large");
	*ret = (struct journal) { .cap = all.n, .n = all.n };
	ret->p = must_dup_str(buf_view(&all));
	return 0;
}

void logbook_end_lost(struct logbook *b)
{
	struct err e;

	if (logs_end_lost(b->rs->link->store, clock_wall_ms(), &e) < 0)
		log_warn("could not close the logs of lost sandboxes", "err=%s", e.text);
}

bool logbook_prune(struct logbook *b, uint64_t until_ms)
{
	uint64_t freed;
	struct err e;
	int n;

	do {
		n = logs_prune(b->rs->link->store, oldest_end_ms(b), &freed, &e);
		if (n < 0)
			log_warn("could not delete old logs, retrying later", "err=%s", e.text);
		else
			b->bytes -= freed < b->bytes ? freed : b->bytes;
	} while (n == STORE_BATCH_LOGS && clock_mono_ms() < until_ms);
	return n == STORE_BATCH_LOGS;
}
