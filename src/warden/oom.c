/* SPDX-License-Identifier: Apache-2.0 */
/* oom: waits for an event of the memory cgroup, then reads its counter.
 *
 * A killed process needs CPU time to exit and holds its memory until then; meanwhile the kernel kills others for
 * it. Under a small CPU quota this takes long, and processes that wait for a lock in the kernel wait with it. So
 * the quota is lifted while kills go on: for at most HURRY_MAX_MS, and then not again for HURRY_REST times as
 * long, because a sandbox can cause this at will.
 *
 * A cgroup v1 reports the lack of memory before a process is killed, so the counter is polled for a while. */
#include "warden/oom.h"

#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "loop/loop.h"
#include "warden/aside.h"
#include "warden/front_send.h"
#include "warden/unit_state.h"
#include "warden/warden.h"

#define LOOK_MS 3
#define LOOKS 100
#define HURRY_LOOK_MS 250 /* no kill for this long: it is over */
#define HURRY_MAX_MS 3000
#define HURRY_REST 9 /* the quota holds for this many times as long afterwards */

static void hurry_end(struct unit *sb)
{
	uint64_t now = loop_now_ms(sb->w->loop);
	int r = sb->w->ops->hurry(sb->w->engine, &sb->er, false);

	if (r < 0)
		log_error("could not restore a CPU quota", "id=%s errno=%d", sb->er.spec.id, -r);
	sb->oom.hurries = false;
	sb->oom.rest_until_ms = now + HURRY_REST * (now - sb->oom.hurry_since_ms);
}

static void on_hurry(void *user)
{
	struct unit *sb = user;
	struct engine_usage us = { 0 };
	struct err e = ERR_INIT;

	if (sb->state != UNIT_RUNNING)
		return;
	bool more = sb->w->ops->usage(sb->w->engine, &sb->er, &us, &e) == 0 && us.oom_kills > sb->oom.hurry_kills;

	if (!more || loop_now_ms(sb->w->loop) - sb->oom.hurry_since_ms >= HURRY_MAX_MS) {
		hurry_end(sb);
		return;
	}
	sb->oom.hurry_kills = us.oom_kills;
	timer_arm(sb->oom.hurry, HURRY_LOOK_MS);
}

static void hurry(struct unit *sb, uint32_t kills)
{
	uint64_t now = loop_now_ms(sb->w->loop);

	if (sb->oom.hurries || !sb->er.spec.limits.cpu_permille || sb->frozen || now < sb->oom.rest_until_ms)
		return;
	if (sb->w->ops->hurry(sb->w->engine, &sb->er, true) < 0)
		return;
	sb->oom.hurries = true;
	sb->oom.hurry_since_ms = now;
	sb->oom.hurry_kills = kills;
	timer_arm(sb->oom.hurry, HURRY_LOOK_MS);
}

static void look(struct unit *sb)
{
	struct engine_usage us = { 0 };
	struct err e = ERR_INIT;

	if (sb->state != UNIT_RUNNING || sb->w->ops->usage(sb->w->engine, &sb->er, &us, &e) < 0)
		return;
	if (us.oom_kills > sb->oom.seen) {
		oom_seen(sb, us.oom_kills);
	} else if (sb->oom.looks > 0) {
		sb->oom.looks--;
		timer_arm(sb->oom.timer, LOOK_MS);
	}
}

static void on_timer(void *user)
{
	look(user);
}

/* Makes the fd report the next event. False: its cgroup is gone, and the fd would report that for ever. */
static bool drain(const struct unit *sb)
{
	char z[1024];

	if (sb->oom.by_priority)
		return pread(sb->oom.fd, z, sizeof z, 0) >= 0;
	while (read(sb->oom.fd, z, sizeof z) > 0)
		;
	return true;
}

static void on_event(void *user, int events)
{
	struct unit *sb = user;

	(void)events;
	if (!drain(sb)) {
		watch_free(take_ptr(&sb->oom.watch));
		return;
	}
	sb->oom.looks = LOOKS;
	look(sb);
}

void oom_seen(struct unit *sb, uint32_t kills)
{
	if (sb->state != UNIT_RUNNING || kills <= sb->oom.seen)
		return;
	log_info("a process was killed at the memory limit", "id=%s kills=%u", sb->er.spec.id, kills);
	sb->oom.seen = kills;
	hurry(sb, kills);
	front_oom(sb->w, sb);
}

void oom_begin(struct unit *sb)
{
	struct warden *w = sb->w;
	struct engine_usage us = { 0 };
	struct err e = ERR_INIT;

	sb->oom.timer = timer_new(w->loop, on_timer, sb);
	sb->oom.hurry = timer_new(w->loop, on_hurry, sb);
	bool few = w->n_watched >= w->max_watched;
	int how = few ? 0 : w->ops->oom_watch(w->engine, &sb->er, &sb->oom.fd, &e);

	sb->oom.fd = unit_fd(sb->oom.fd);
	w->n_watched += sb->oom.fd >= 0;

	if (!sb->oom.timer || !sb->oom.hurry || how < 0) {
		log_warn("could not watch for out-of-memory kills: they are not reported", "id=%s err=%s",
		    sb->er.spec.id, e.text);
		return;
	}
	/* An earlier warden has reported these, or they were missed. */
	if (w->ops->usage(w->engine, &sb->er, &us, &e) == 0)
		sb->oom.seen = us.oom_kills;
	if (few)
		return;
	sb->oom.by_priority = how == ENGINE_OOM_PRIORITY;
	sb->oom.watch = watch_new(w->loop, sb->oom.fd, sb->oom.by_priority ? WATCH_PRI : WATCH_IN, on_event, sb);
}

void oom_end(struct unit *sb)
{
	watch_free(take_ptr(&sb->oom.watch));
	timer_free(take_ptr(&sb->oom.timer));
	timer_free(take_ptr(&sb->oom.hurry));
	sb->w->n_watched -= sb->oom.fd >= 0;
	fd_close(take_fd(&sb->oom.fd));
}
