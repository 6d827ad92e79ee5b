/* SPDX-License-Identifier: Apache-2.0 */
/* network: changes or restores what a running sandbox may reach.
 *
 * The firewall library reads all tables of the host, which is slow, so a child does it: one at a time per
 * sandbox and CHILDREN_MAX in all, so that a client with many changes delays only itself. A change that arrives
 * meanwhile waits. A later one replaces it, as nobody could have observed the one before, and both are answered
 * when the later one is in force. The record is written first: a warden that takes over goes by it. */
#include "warden/unit/network.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "engine/engine.h"
#include "warden/aside.h"
#include "warden/front_send.h"
#include "warden/policy.h"
#include "warden/records.h"
#include "warden/service/egress.h"
#include "warden/slots.h"
#include "warden/unit_state.h"
#include "warden/warden.h"

#define CHILDREN_MAX 4 /* running for all sandboxes together */
#define WAITING_MAX 32 /* requests that wait for one change */
#define CHILD_S 30     /* a child that takes longer is killed */

struct network_change {
	struct warden *w;
	struct engine_record er; /* when the child starts */
	bool no_internet;
	struct held_policy *policy; /* NULL: all or nothing is allowed */
	struct {
		uint32_t seq;
		uint64_t life;
	} waiting[WAITING_MAX]; /* the last one is for this change, the others were replaced by it */
	size_t n_waiting;
	int report[2]; /* a struct err */
};

/* Has the engine enforce a policy; NULL: all or nothing is allowed. */
static int enforce(struct warden *w, const struct engine_record *er, bool no_internet, const struct held_policy *policy,
    struct err *e)
{
	struct engine_policy p;

	if (policy && policy_for_engine(policy, &p, e) < 0)
		return -e->no;
	return w->ops->network(w->engine, er, no_internet, policy ? &p : NULL, e);
}

int unit_enforce(struct unit *sb, struct err *e)
{
	return enforce(sb->w, &sb->er, sb->er.spec.no_internet, sb->policy, e);
}

/* Answers the request that waits for the policy: a change of it, or the start that it came with. */
static void answer_waiting(struct unit *sb)
{
	if (sb->telling.front_seq) {
		front_ok(sb->w, sb->telling.life, sb->telling.front_seq);
		sb->telling.front_seq = 0;
	} else if (sb->seq && sb->state == UNIT_RUNNING) {
		front_ok(sb->w, sb->life, sb->seq);
		sb->seq = 0;
	}
}

void unit_told(struct unit *sb)
{
	egress_settled(sb);
	answer_waiting(sb);
}

/* Sends the policy to atoll-egress. It replaces one that is not acknowledged yet. */
static void tell(struct unit *sb, uint32_t seq, uint64_t life, bool had)
{
	if (sb->telling.seq)
		answer_waiting(sb);
	sb->telling.front_seq = seq;
	sb->telling.life = life;
	egress_tell(sb, had);
}

static void change_free(struct network_change *ch)
{
	if (!ch)
		return;
	fd_close(ch->report[0]);
	fd_close(ch->report[1]);
	free(ch->policy);
	free(ch);
}

static void fail_all(struct network_change *ch, const struct err *e)
{
	for (size_t i = 0; i < ch->n_waiting; i++)
		front_error(ch->w, ch->waiting[i].life, ch->waiting[i].seq, e->no, e->text);
	change_free(ch);
}

static int note(struct unit *sb, const struct network_change *ch, struct err *e)
{
	struct record rec = { .stage = RECORD_LIVE,
		.frozen = sb->frozen,
		.er = sb->er,
		.policy = ch ? ch->policy : sb->policy };

	if (ch) {
		rec.er.spec.no_internet = ch->no_internet;
		rec.er.spec.ruled = ch->policy != NULL;
	}
	return record_write(sb->w->records_dir, &rec, e);
}

static void in_child(void *arg)
{
	struct network_change *ch = arg;
	struct err e = ERR_INIT;

	(void)alarm(CHILD_S);
	if (enforce(ch->w, &ch->er, ch->no_internet, ch->policy, &e) >= 0)
		e = ERR_INIT;
	(void)!write(ch->report[1], &e, sizeof e);
}

static void on_done(void *arg);

/* Returns 0; on failure nothing has changed and the caller answers. */
static int begin(struct unit *sb, struct network_change *ch, struct err *e)
{
	struct err ignored = ERR_INIT;

	ch->er = sb->er;
	if (pipe2(ch->report, O_CLOEXEC | O_NONBLOCK) < 0)
		return err_sys(e, "make a pipe");
	if (note(sb, ch, e) < 0)
		return -e->no;
	int r = aside_run(sb->w->loop, in_child, on_done, ch);

	if (r < 0) {
		(void)note(sb, NULL, &ignored);
		return err_set(e, -r, "fork: %s", strerror(-r));
	}
	sb->networking = true;
	sb->w->n_networking++;
	return 0;
}

/* Starts with the sandbox after the one served last, so that each gets its turn. */
static void begin_next(struct warden *w)
{
	for (uint32_t i = 0; i < w->n_slots && w->n_networking < CHILDREN_MAX; i++) {
		struct unit *sb = w->slots[(w->next_networking + i) % w->n_slots];
		struct err e = ERR_INIT;

		if (!sb || sb->networking || !sb->next_network)
			continue;
		struct network_change *ch = take_ptr(&sb->next_network);

		if (begin(sb, ch, &e) < 0)
			fail_all(ch, &e);
		else
			w->next_networking = (sb->er.spec.slot + 1) % w->n_slots;
	}
}

/* The change is in force in the firewall. Replaced requests are answered now, the last one when atoll-egress has
 * it, too. */
static void settle(struct unit *sb, struct network_change *ch)
{
	bool had = held_policy_proxied(sb->policy);
	size_t last = ch->n_waiting - 1;

	free(sb->policy);
	sb->policy = take_ptr(&ch->policy);
	sb->er.spec.no_internet = ch->no_internet;
	sb->er.spec.ruled = sb->policy != NULL;
	for (size_t i = 0; i < last; i++)
		front_ok(sb->w, ch->waiting[i].life, ch->waiting[i].seq);
	tell(sb, ch->waiting[last].seq, ch->waiting[last].life, had);
	change_free(ch);
}

static void on_done(void *arg)
{
	struct network_change *ch = arg;
	struct warden *w = ch->w;
	struct unit *sb = unit_find(w, ch->er.spec.id); /* its slot stays taken until this is done */
	struct err e = ERR_INIT, again = ERR_INIT;

	w->n_networking--;
	if (read(ch->report[0], &e, sizeof e) != (ssize_t)sizeof e)
		(void)err_set(&e, EPIPE, "the network was not changed: a helper ended early");
	if (sb)
		sb->networking = false;
	if (!sb || sb->state != UNIT_RUNNING) {
		if (sb)
			sb->er.spec.ruled = sb->er.spec.ruled || ch->policy; /* so that its rules are removed */
		(void)err_set(&e, ENOENT, "the sandbox has ended");
		fail_all(ch, &e);
	} else if (e.no) {
		fail_all(ch, &e);
	} else {
		settle(sb, ch);
	}
	/* Always: the sandbox may have been frozen, thawed or given other limits meanwhile, which wrote the
	 * record with the old network. */
	if (sb && sb->state == UNIT_RUNNING && note(sb, NULL, &again) < 0)
		log_error("the record of a sandbox may not match its network", "id=%s err=%s", sb->er.spec.id,
		    again.text);
	begin_next(w);
}

/* Replaces a change that waits. -EBUSY: too many requests wait already. */
static int queue(struct unit *sb, struct network_change *ch)
{
	struct network_change *old = sb->next_network;

	if (old && old->n_waiting == WAITING_MAX)
		return -EBUSY;
	if (old) {
		ch->waiting[old->n_waiting] = ch->waiting[0];
		memcpy(ch->waiting, old->waiting, old->n_waiting * sizeof *old->waiting);
		ch->n_waiting = old->n_waiting + 1;
		change_free(old);
	}
	sb->next_network = ch;
	return 0;
}

int unit_network(struct unit *sb, uint32_t seq, bool no_internet, const void *policy, size_t n, struct err *e)
{
	struct warden *w = sb->w;
	bool idle = !sb->networking && !sb->next_network;

	if (idle && sb->er.spec.no_internet == no_internet && n == 0 && !sb->policy) {
		front_ok(w, w->life, seq);
		return 0;
	}
	struct network_change *ch = calloc(1, sizeof *ch);

	if (!ch)
		return err_set(e, ENOMEM, "out of memory");
	*ch = (struct network_change) { .w = w,
		.no_internet = no_internet,
		.policy = n ? held_policy_new(policy, n) : NULL,
		.waiting = { { seq, w->life } },
		.n_waiting = 1,
		.report = { -1, -1 } };
	if (n && !ch->policy) {
		change_free(ch);
		return err_set(e, ENOMEM, "out of memory");
	}
	int r = idle && w->n_networking < CHILDREN_MAX ? begin(sb, ch, e) : queue(sb, ch);

	if (r == -EBUSY)
		(void)err_set(e, EBUSY, "%d changes of its network are waiting already", WAITING_MAX);
	if (r < 0)
		change_free(ch);
	return r;
}

void unit_network_end(struct unit *sb)
{
	struct err e = ERR_INIT;

	if (!sb->next_network)
		return;
	(void)err_set(&e, ENOENT, "the sandbox has ended");
	fail_all(take_ptr(&sb->next_network), &e);
}
