/* SPDX-License-Identifier: Apache-2.0 */
/* oom: an event of the memory cgroup, then its counter.
 *
 * A cgroup of v1 tells that it is out of memory before anybody has been killed, so the counter is looked at again for a while. */
#include "warden/oom.h"

#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "loop/loop.h"
#include "warden/front.h"
#include "warden/sandbox.h"
#include "warden/warden.h"

#define LOOK_MS 3
#define LOOKS 100

static void look(struct sandbox *sb)
{
	struct engine_usage us = { 0 };
	struct err e = ERR_INIT;

	if (sb->state != SANDBOX_RUNNING || sb->w->ops->usage(sb->w->engine, &sb->er, &us, &e) < 0)
		return;
	if (us.oom_kills > sb->oom.seen) {
		log_info("a process was killed at the memory limit", "id=%s kills=%u", sb->er.spec.id, us.oom_kills);
		sb->oom.seen = us.oom_kills;
		front_oom(sb->w, sb);
	} else if (sb->oom.looks > 0) {
		sb->oom.looks--;
		timer_arm(sb->oom.timer, LOOK_MS);
	}
}

static void on_timer(void *user)
{
	look(user);
}

static void on_event(void *user, int events)
{
	struct sandbox *sb = user;
	char z[1024];

	(void)events;
	while (read(sb->oom.fd, z, sizeof z) > 0)
		;
	sb->oom.looks = LOOKS;
	look(sb);
}

void oom_begin(struct sandbox *sb)
{
	struct warden *w = sb->w;
	struct engine_usage us = { 0 };
	struct err e = ERR_INIT;

	sb->oom.timer = timer_new(w->loop, on_timer, sb);
	if (!sb->oom.timer || w->ops->oom_watch(w->engine, &sb->er, &sb->oom.fd, &e) < 0) {
		log_warn("nobody will be told when it runs out of memory, going on", "id=%s err=%s", sb->er.spec.id, e.text);
		return;
	}
	/* An earlier warden has told of these, or nobody heard of them. */
	if (w->ops->usage(w->engine, &sb->er, &us, &e) == 0)
		sb->oom.seen = us.oom_kills;
	sb->oom.watch = watch_new(w->loop, sb->oom.fd, WATCH_IN, on_event, sb);
}

void oom_end(struct sandbox *sb)
{
	watch_free(take_ptr(&sb->oom.watch));
	timer_free(take_ptr(&sb->oom.timer));
	fd_close(take_fd(&sb->oom.fd));
}
