/* SPDX-License-Identifier: Apache-2.0 */
/* pairs: which pairs to make, for which template and slot, and when.
 *
 * A template wants twice as many as it has had starts, until it has its share of the store. So a server that starts
 * one sandbox prepares two networks, and a busy one has a full store when the next burst comes. Pairs of the server's
 * own templates wait for ever, those of others until the template is unused for IDLE_MS.
 *
 * Other templates are the tenants'. While one of the server's own is in use, all of them together have half of the
 * store; they never push out an own template, and are the first to give way. A template whose pairs cannot be made
 * waits ever longer, and alone. */
#include "warden/pairs.h"

#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/str.h"
#include "loop/loop.h"
#include "warden/warden.h"

#define KEYS_MAX 8       /* templates that have pairs at the same time */
#define IDLE_MS 600000   /* see above */
#define STUCK_MS 20000   /* a helper that needs longer for one pair is killed */
#define FAILED_MS 1000   /* delay after a failure; */
#define FAILED_MAX 60000 /* it doubles up to this */
/* Of the builders that may work at the same time, those that leave room to prepare. */
#define BUSY(w) ((w)->n_builders > (w)->max_builders / 4)

struct kind {                      /* a template that has pairs, or wants them */
	char key[ENGINE_KEY_SIZE]; /* "": a free entry */
	bool own;                  /* of the server */
	uint32_t wanted, waiting;
	uint64_t used_ms;
	uint64_t not_before_ms, delay_ms; /* after a failure */
};

struct waiting {
	struct kind *of; /* NULL: a free entry */
	struct engine_pair pair;
	uint32_t slot;
};

struct pairs {
	struct warden *w;
	void (*made)(struct warden *w);
	struct kind kinds[KEYS_MAX];
	struct waiting *all; /* in the order in which they were made */
	uint32_t n, max;
	bool in_slot[SLOTS_MAX];

	struct kind *making; /* NULL: nothing is being made */
	uint32_t making_slot;
	uint64_t since_ms; /* when that was asked for */
	bool killed;       /* its helper, for taking too long */
	struct watch *watch;
	int watched_fd;
};

static void pair_close(struct engine_pair *pair)
{
	fd_close(take_fd(&pair->user));
	fd_close(take_fd(&pair->net));
}

/* --- templates ------------------------------------------------------------------------------------------------ */

static struct kind *find(struct pairs *p, const char *key)
{
	for (size_t i = 0; i < KEYS_MAX; i++) {
		if (p->kinds[i].key[0] && strcmp(p->kinds[i].key, key) == 0)
			return &p->kinds[i];
	}
	return NULL;
}

static bool is_own(const struct warden *w, const char *key)
{
	for (uint32_t i = 0; i < w->cfg.n_templates; i++) {
		if (strcmp(w->cfg.templates[i].key, key) == 0)
			return true;
	}
	return false;
}

static uint32_t least(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

static uint32_t count_kinds(const struct pairs *p, bool own)
{
	uint32_t n = 0;

	for (size_t i = 0; i < KEYS_MAX; i++)
		n += p->kinds[i].key[0] && p->kinds[i].own == own;
	return n;
}

/* Places for all templates of that sort together. */
static uint32_t places(const struct pairs *p, bool own)
{
	if (count_kinds(p, !own) == 0)
		return p->max;
	return own ? p->max - p->max / 2 : p->max / 2;
}

static uint32_t share(const struct pairs *p, const struct kind *t)
{
	uint32_t n = count_kinds(p, t->own), all = places(p, t->own);

	return all / n ? all / n : least(all, 1);
}

static uint32_t count_waiting(const struct pairs *p, bool own)
{
	uint32_t n = 0;

	for (size_t i = 0; i < KEYS_MAX; i++)
		n += p->kinds[i].own == own ? p->kinds[i].waiting : 0;
	return n;
}

/* --- the store ------------------------------------------------------------------------------------------------ */

/* Takes entry i out. */
static struct waiting take_out(struct pairs *p, uint32_t i)
{
	struct waiting x = p->all[i];

	memmove(&p->all[i], &p->all[i + 1], (p->n - i - 1) * sizeof *p->all);
	p->n--;
	p->in_slot[x.slot] = false;
	x.of->waiting--;
	return x;
}

static void drop(struct pairs *p, uint32_t i)
{
	struct waiting x = take_out(p, i);

	pair_close(&x.pair);
}

static void drop_oldest_of(struct pairs *p, const struct kind *t)
{
	for (uint32_t i = 0; i < p->n; i++) {
		if (p->all[i].of == t) {
			drop(p, i);
			return;
		}
	}
}

static void forget(struct pairs *p, struct kind *t)
{
	while (t->waiting > 0)
		drop_oldest_of(p, t);
	t->wanted = 0;
	if (p->making != t) /* otherwise its result is dropped first, and the next tick gets here again */
		t->key[0] = '\0';
}

bool pairs_take(struct pairs *p, const char *key, uint32_t *ret_slot, struct engine_pair *ret)
{
	const struct kind *t = p ? find(p, key) : NULL;

	for (uint32_t i = 0; t && i < p->n; i++) {
		if (p->all[i].of != t)
			continue;
		struct waiting x = take_out(p, i);

		*ret_slot = x.slot;
		*ret = x.pair;
		return true;
	}
	return false;
}

bool pairs_has(const struct pairs *p, uint32_t slot)
{
	return p && p->in_slot[slot];
}

bool pairs_makes(const struct pairs *p, uint32_t slot)
{
	return p && p->making && p->making_slot == slot;
}

/* The one that is missed least: of a tenant's template, then of that which was used the longest time ago. */
static bool is_missed_less(const struct kind *a, const struct kind *b)
{
	return a->own != b->own ? b->own : a->used_ms < b->used_ms;
}

bool pairs_give_way(struct pairs *p, uint32_t *ret_slot)
{
	uint32_t at = 0;

	if (!p || p->n == 0)
		return false;
	for (uint32_t i = 1; i < p->n; i++) {
		if (is_missed_less(p->all[i].of, p->all[at].of))
			at = i;
	}
	*ret_slot = p->all[at].slot;
	drop(p, at);
	return true;
}

/* --- making --------------------------------------------------------------------------------------------------- */

static void put_off(struct pairs *p, struct kind *t, const struct err *e)
{
	if (!t->delay_ms)
		log_warn("could not prepare a network; starts make their own meanwhile", "template=%s err=%s", t->key,
		    e->text);
	t->delay_ms = t->delay_ms ? t->delay_ms * 2 : FAILED_MS;
	if (t->delay_ms > FAILED_MAX)
		t->delay_ms = FAILED_MAX;
	t->not_before_ms = loop_now_ms(p->w->loop) + t->delay_ms;
}

static void unwatch(struct pairs *p)
{
	watch_free(take_ptr(&p->watch));
	p->watched_fd = -1;
}

/* A unit has taken the slot meanwhile, because there was no other; or the template is not wanted any more. */
static bool is_unwanted(const struct pairs *p, const struct kind *t, uint32_t slot)
{
	return p->w->slots[slot] || p->w->stopping || t->waiting >= least(t->wanted, share(p, t)) || p->n >= p->max;
}

static void on_made(void *user, int events)
{
	struct pairs *p = user;
	struct kind *t = p->making;
	struct engine_pair pair = ENGINE_PAIR_NONE;
	struct err e = ERR_INIT;

	(void)events;
	int r = p->w->ops->prepared(p->w->engine, &pair, &e);

	if (r == -EAGAIN)
		return;
	if (r == -EPIPE)
		unwatch(p);
	p->making = NULL;
	if (r < 0 && t) {
		put_off(p, t, &e);
	} else if (r < 0) { /* asked for by nobody */
		log_warn("the process that prepares networks failed", "err=%s", e.text);
	} else if (!t || is_unwanted(p, t, p->making_slot)) {
		pair_close(&pair);
	} else {
		t->delay_ms = 0;
		p->in_slot[p->making_slot] = true;
		t->waiting++;
		p->all[p->n++] = (struct waiting) { .of = t, .pair = pair, .slot = p->making_slot };
	}
	p->made(p->w);
	pairs_run(p);
}

/* How many pairs it lacks and may have now. */
static uint32_t lacks(const struct pairs *p, const struct kind *t, uint64_t now_ms)
{
	uint32_t goal = t->key[0] && now_ms >= t->not_before_ms ? least(t->wanted, share(p, t)) : 0;

	if (goal <= t->waiting || count_waiting(p, t->own) >= places(p, t->own))
		return 0;
	return goal - t->waiting;
}

/* The template that lacks most, and the one used last of several. */
static struct kind *neediest(struct pairs *p)
{
	uint64_t now_ms = loop_now_ms(p->w->loop);
	struct kind *found = NULL;
	uint32_t most = 0;

	for (size_t i = 0; i < KEYS_MAX; i++) {
		struct kind *t = &p->kinds[i];
		uint32_t n = lacks(p, t, now_ms);

		if (n > most || (n && n == most && t->used_ms > found->used_ms)) {
			most = n;
			found = t;
		}
	}
	return found;
}

/* In a full store, templates with more than their share give way; then tenants that have more than all of theirs. */
static bool make_room(struct pairs *p)
{
	uint32_t slot;

	for (size_t i = 0; p->n >= p->max && i < KEYS_MAX; i++) {
		struct kind *t = &p->kinds[i];

		if (t->key[0] && t->waiting > share(p, t))
			drop_oldest_of(p, t);
	}
	while (p->n >= p->max && count_waiting(p, false) > places(p, false) && pairs_give_way(p, &slot))
		;
	return p->n < p->max;
}

static int watch_it(struct pairs *p, int fd)
{
	if (p->watch && p->watched_fd == fd)
		return 0;
	unwatch(p);
	p->watch = watch_new(p->w->loop, fd, WATCH_IN, on_made, p);
	p->watched_fd = fd;
	return p->watch ? 0 : -ENOMEM;
}

static void begin(struct pairs *p, struct kind *t, uint32_t slot)
{
	struct warden *w = p->w;
	struct err e = ERR_INIT;
	int fd;

	if (w->ops->prepare(w->engine, t->key, slot, &fd, &e) < 0) {
		unwatch(p);
		put_off(p, t, &e);
		return;
	}
	p->making = t;
	p->making_slot = slot;
	p->since_ms = loop_now_ms(w->loop);
	p->killed = false;
	if (watch_it(p, fd) < 0) /* pairs_tick() reads the result */
		log_warn("could not watch the process that prepares networks: out of memory", "slot=%u", slot);
}

/* A slot that nothing uses, while there are more than all builders could want. */
static bool spare_slot(struct pairs *p, uint32_t *ret)
{
	struct warden *w = p->w;
	uint32_t n = 0;

	for (uint32_t i = 0; i < w->n_slots && n <= w->max_builders; i++) {
		uint32_t slot = (w->next_slot + i) % w->n_slots;

		if (!w->slots[slot] && !p->in_slot[slot] && n++ == 0)
			*ret = slot;
	}
	if (n <= w->max_builders)
		return false;
	w->next_slot = (*ret + 1) % w->n_slots;
	return true;
}

void pairs_run(struct pairs *p)
{
	uint32_t slot = 0;

	if (!p || p->making || p->w->stopping || p->w->first_queued || BUSY(p->w))
		return;
	struct kind *t = neediest(p);

	if (t && make_room(p) && spare_slot(p, &slot))
		begin(p, t, slot);
}

/* Whether x is a better entry to take over than `best`, for a template of that sort. Free ones come first; what is
 * being made for an entry will be added to it. */
static bool is_spare(const struct pairs *p, const struct kind *x, const struct kind *best, bool own)
{
	if (p->making == x || (x->key[0] && x->own && !own))
		return false;
	if (!best || !best->key[0] || !x->key[0])
		return !best || best->key[0];
	return is_missed_less(x, best);
}

static struct kind *entry_for(struct pairs *p, const char *key)
{
	struct kind *t = find(p, key), *spare = NULL;
	bool own = is_own(p->w, key);

	for (size_t i = 0; !t && i < KEYS_MAX; i++) {
		if (is_spare(p, &p->kinds[i], spare, own))
			spare = &p->kinds[i];
	}
	if (t || !spare)
		return t;
	if (spare->key[0])
		forget(p, spare);
	*spare = (struct kind) { .own = own };
	(void)str_copy(spare->key, sizeof spare->key, str_of(key));
	return spare;
}

void pairs_used(struct pairs *p, const char *key)
{
	struct kind *t = p ? entry_for(p, key) : NULL;

	if (!t)
		return;
	t->used_ms = loop_now_ms(p->w->loop);
	t->wanted = least(t->wanted + 2, p->max);
}

void pairs_tick(struct pairs *p)
{
	uint64_t now = p ? loop_now_ms(p->w->loop) : 0;

	if (!p)
		return;
	for (size_t i = 0; i < KEYS_MAX; i++) {
		struct kind *t = &p->kinds[i];

		if (t->key[0] && now >= t->used_ms + IDLE_MS && !t->own)
			forget(p, t);
	}
	if (p->making && !p->killed && now >= p->since_ms + STUCK_MS) {
		log_warn("a network is not prepared in time, giving up", "slot=%u", p->making_slot);
		p->killed = true;
		p->w->ops->unprepare(p->w->engine);
	}
	if (p->making && !p->watch)
		on_made(p, 0);
	pairs_run(p);
}

/* --- life ----------------------------------------------------------------------------------------------------- */

struct pairs *pairs_new(struct warden *w, void (*made)(struct warden *w))
{
	uint32_t max = (uint32_t)w->cfg.prepared_networks;
	struct pairs *p = max && w->ops->prepare ? calloc(1, sizeof *p) : NULL;

	if (!p)
		return NULL;
	*p = (struct pairs) { .w = w, .made = made, .max = max, .watched_fd = -1, .all = calloc(max, sizeof *p->all) };
	if (!p->all) {
		free(p);
		return NULL;
	}
	return p;
}

void pairs_let_go(const struct pairs *p)
{
	for (uint32_t i = 0; p && i < p->n; i++) {
		fd_close(p->all[i].pair.user);
		fd_close(p->all[i].pair.net);
	}
}

void pairs_free(struct pairs *p)
{
	if (!p)
		return;
	unwatch(p);
	pairs_let_go(p);
	free(p->all);
	free(p);
}
