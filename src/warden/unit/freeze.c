/* SPDX-License-Identifier: Apache-2.0 */
/* freeze: freezes and thaws all processes of a sandbox.
 *
 * A process in disk I/O freezes only when the I/O completes. The warden's loop does not block: it polls, and the
 * front gets its answer when all processes are frozen, or when the timeout expires and they run again. */
#include "warden/unit/freeze.h"

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "loop/loop.h"
#include "warden/front_send.h"
#include "warden/keeper.h"
#include "warden/records.h"
#include "warden/unit/bell.h"
#include "warden/unit_state.h"
#include "warden/warden.h"

#define LOOK_MS 5
#define GIVE_UP_MS 10000
#define GIVE_UP_THAW_MS 60000 /* an earlier checkpoint may still be reading its memory */

static void answer(struct unit *sb, int r, const struct err *e)
{
	uint32_t seq = sb->freezing.seq;

	timer_disarm(sb->freezing.timer);
	sb->freezing.seq = 0;
	if (r < 0)
		front_error(sb->w, sb->freezing.life, seq, e->no, e->text);
	else
		front_ok(sb->w, sb->freezing.life, seq);
}

static int note(struct unit *sb, bool frozen, struct err *e)
{
	struct record rec = { .stage = RECORD_LIVE, .frozen = frozen, .er = sb->er, .policy = sb->policy };

	sb->frozen = frozen;
	return record_write(sb->w->records_dir, &rec, e);
}

/* The sandbox runs on as if the request had never been made. */
static void give_up(struct unit *sb, const struct err *why)
{
	struct err e = ERR_INIT;

	if (!sb->freezing.thaws && sb->state == UNIT_RUNNING &&
	    sb->w->ops->freeze(sb->w->engine, &sb->er, false, &e) < 0)
		log_warn("could not thaw a sandbox", "id=%s err=%s", sb->er.spec.id, e.text);
	answer(sb, -why->no, why);
	bell_open(sb);
}

static void look(struct unit *sb)
{
	bool on = !sb->freezing.thaws;
	struct err e = ERR_INIT;

	if (sb->state != UNIT_RUNNING) {
		(void)err_set(&e, ENOENT, "no sandbox '%s'", sb->er.spec.id);
		answer(sb, -ENOENT, &e);
		return;
	}
	if (sb->freezing.life != sb->w->life) { /* the front that asked is gone, and was never told of success */
		(void)err_set(&e, ECANCELED, "cancelled");
		give_up(sb, &e);
		return;
	}
	int r = sb->w->ops->freeze(sb->w->engine, &sb->er, on, &e);

	if (r == -EAGAIN && clock_mono_ms() < sb->freezing.until_ms)
		timer_arm(sb->freezing.timer, LOOK_MS);
	else if (r < 0)
		give_up(sb, &e);
	else
		answer(sb, note(sb, on, &e), &e);
	bell_open(sb);
}

static void on_look(void *user)
{
	look(user);
}

static void begin(struct unit *sb, uint32_t seq, bool thaws, uint64_t give_up_ms)
{
	if (!sb->freezing.timer)
		sb->freezing.timer = timer_new(sb->w->loop, on_look, sb);
	if (!sb->freezing.timer || sb->freezing.seq) {
		front_error(sb->w, sb->w->life, seq, sb->freezing.timer ? EBUSY : ENOMEM,
		    "it is being frozen or thawed already");
		return;
	}
	sb->freezing.seq = seq;
	sb->freezing.thaws = thaws;
	sb->freezing.life = sb->w->life;
	sb->freezing.until_ms = clock_mono_ms() + give_up_ms;
	if (!thaws)
		bell_close(sb);
	look(sb);
}

void unit_freeze(struct unit *sb, uint32_t seq)
{
	if (sb->frozen && !sb->freezing.seq)
		front_ok(sb->w, sb->w->life, seq);
	else
		begin(sb, seq, false, GIVE_UP_MS);
}

void unit_thaw_quietly(struct unit *sb)
{
	struct err e = ERR_INIT;

	if (sb->w->ops->freeze(sb->w->engine, &sb->er, false, &e) < 0 || note(sb, false, &e) < 0)
		log_error("could not thaw a sandbox", "id=%s err=%s", sb->er.spec.id, e.text);
	bell_open(sb);
}

void unit_thaw(struct unit *sb, uint32_t seq)
{
	struct warden *w = sb->w;
	struct err e = ERR_INIT;

	if (keeper_puts_off(sb, seq))
		return;
	keeper_free(take_ptr(&sb->keeper)); /* what it writes is out of date from now on */
	if (sb->freezing.seq && (!sb->freezing.thaws || sb->freezing.life != w->life)) {
		(void)err_set(&e, ECANCELED, "it was thawed before all of it was frozen");
		give_up(sb, &e);
	}
	if (sb->frozen)
		begin(sb, seq, true, GIVE_UP_THAW_MS);
	else
		front_ok(w, w->life, seq);
}

void unit_freeze_end(struct unit *sb)
{
	struct err e = ERR_INIT;

	if (sb->freezing.seq) {
		(void)err_set(&e, ENOENT, "sandbox '%s' has ended", sb->er.spec.id);
		answer(sb, -ENOENT, &e);
	}
	timer_free(sb->freezing.timer);
}
