/* SPDX-License-Identifier: Apache-2.0 */
/* front/sandbox/sandbox: references, connections, log entries, and what follows from the state. */
#include "front/sandbox/sandbox.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "front/link/links.h"
#include "front/record/logbook.h"
#include "front/record/records.h"
#include "front/record/veil.h"
#include "front/sandbox/sandboxes.h"
#include "loop/loop.h"
#include "loop/stream.h"
#include "store/sandboxes.h"

#define BIT(s) (1u << (s))

struct sandbox *sandbox_ref(struct sandbox *sb)
{
	sb->refs++;
	return sb;
}

void sandbox_idle_close(struct sandbox *sb)
{
	sb->all->link->idle -= (uint32_t)sb->warm_pool.n;
	upstream_close_all(&sb->warm_pool);
}

struct stream *sandbox_idle_take(struct sandbox *sb)
{
	size_t before = sb->warm_pool.n;
	struct stream *s = upstream_take(&sb->warm_pool, sb->all->link->loop);

	sb->all->link->idle -= (uint32_t)(before - sb->warm_pool.n);
	return s;
}

int sandbox_idle_take_fd(struct sandbox *sb)
{
	size_t before = sb->warm_pool.n;
	int fd = upstream_take_fd(&sb->warm_pool);

	sb->all->link->idle -= (uint32_t)(before - sb->warm_pool.n);
	return fd;
}

static bool may_keep(const struct sandbox *sb)
{
	return sb->state == SANDBOX_RUNNING && sb->all->link->idle < links_max_idle(sb->all->link);
}

void sandbox_idle_put(struct sandbox *sb, struct stream *s)
{
	size_t before = sb->warm_pool.n;

	if (!may_keep(sb)) {
		stream_close(s);
		return;
	}
	upstream_put(&sb->warm_pool, s, loop_now_ms(sb->all->link->loop));
	sb->all->link->idle += (uint32_t)(sb->warm_pool.n - before);
}

void sandbox_idle_put_fd(struct sandbox *sb, int fd)
{
	size_t before = sb->warm_pool.n;

	if (!may_keep(sb)) {
		fd_close(fd);
		return;
	}
	upstream_put_fd(&sb->warm_pool, fd, loop_now_ms(sb->all->link->loop));
	sb->all->link->idle += (uint32_t)(sb->warm_pool.n - before);
}

void sandbox_idle_tick(struct sandbox *sb)
{
	size_t before = sb->warm_pool.n;

	upstream_expire(&sb->warm_pool, loop_now_ms(sb->all->link->loop));
	sb->all->link->idle -= (uint32_t)(before - sb->warm_pool.n);
}

void sandbox_unref(struct sandbox *sb)
{
	if (!sb || --sb->refs > 0)
		return;
	timer_free(sb->retry);
	box_done(&sb->box);
	spec_done(&sb->spec);
	veiled_unref(sb->secrets);
	sandbox_use_unref(sb->use);
	usage_done(&sb->usage);
	logbook_drop(sb->log);
	sandbox_idle_close(sb);
	fd_close(sb->warm_fd);
	free(sb->once);
	share_done(&sb->share);
	free(sb);
}

void sandbox_by(struct sandbox *sb, const char *request)
{
	memset(sb->request, 0, sizeof sb->request);
	(void)str_copy(sb->request, sizeof sb->request, str_of(request));
}

void sandbox_use_begin(struct sandbox *sb)
{
	sb->users++;
	if (sb->use && sb->all->away)
		sb->use->users++;
}

void sandbox_use_end(struct sandbox *sb)
{
	sb->users--;
	sb->active_ms = clock_wall_ms();
	if (sb->use && sb->all->away) {
		sb->use->active_ms = sb->active_ms;
		sb->use->users--;
	}
}

void sandbox_use_unref(struct sandbox_use *u)
{
	if (u && atomic_fetch_sub(&u->refs, 1) == 1)
		free(u);
}

bool sandbox_in_use(const struct sandbox *sb)
{
	return sb->users > 0 || (sb->use && sb->use->users > 0);
}

uint64_t sandbox_active_ms(const struct sandbox *sb)
{
	uint64_t there_ms = sb->use ? sb->use->active_ms : 0;

	if (sandbox_in_use(sb))
		return clock_wall_ms();
	return there_ms > sb->active_ms ? there_ms : sb->active_ms;
}

struct veiled *sandbox_secrets(struct sandbox *sb)
{
	if (!sb->secrets)
		sb->secrets = veiled_new();
	return sb->secrets;
}

void sandbox_note_entry(struct sandbox *sb, struct journal_entry *en)
{
	uint64_t now_ms = clock_wall_ms();

	if (sandbox_gone(sb))
		return; /* its log has been closed */
	if (en->at_ms > now_ms)
		en->at_ms = now_ms;
	if (en->at_ms < sb->noted_ms)
		en->at_ms = sb->noted_ms;
	sb->noted_ms = en->at_ms;
	if (!sb->log)
		sb->log = logbook_open(sb->all->record->logbook, sb->id, sb->team, true);
	logbook_add(sb->log, en);
}

void sandbox_note_text(struct sandbox *sb, enum log_level level, enum journal_kind kind, const char *message,
    const char *pairs)
{
	struct journal_entry en = { .at_ms = UINT64_MAX, .level = level, .kind = kind, .message = str_of(message) };
	struct str rest = str_of(pairs);

	if (sb->all->away) {
		sb->all->away->note(sb->all->away_user, sb, level, kind, message, pairs);
		return;
	}

	while (rest.n > 0 && en.n_fields < JOURNAL_FIELDS_MAX) {
		struct str value = str_cut(&rest, ' ');
		struct str name = str_cut(&value, '=');

		if (!value.n)
			continue;
		en.fields[en.n_fields].name = name;
		en.fields[en.n_fields++].value = value;
	}
	sandbox_note_entry(sb, &en);
}

void sandbox_note(struct sandbox *sb, enum log_level level, enum journal_kind kind, const char *message,
    const char *fmt, ...)
{
	char text[1024];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	sandbox_note_text(sb, level, kind, message, text);
}

void sandbox_note_life(struct sandbox *sb, enum log_level level, const char *message)
{
	sandbox_note(sb, level, JOURNAL_LIFECYCLE, message, "request=%s", sb->request);
}

uint64_t sandbox_now_us(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_REALTIME, &ts);
	return (uint64_t)ts.tv_sec * 1000000 + (uint64_t)ts.tv_nsec / 1000;
}

uint64_t sandbox_latest_end(const struct sandbox *sb, uint64_t end_ms)
{
	uint64_t most = sb->started_us / 1000 + sb->all->link->opt.max_lifetime_s * 1000ull;

	return sb->all->link->opt.max_lifetime_s && end_ms > most ? most : end_ms;
}

/* --- where the memory is, and what else follows from the box -------------------------------------------------- */

const char *sandbox_state_name(const struct sandbox *sb)
{
	return BIT(sb->state) & (BIT(SANDBOX_PAUSING) | BIT(SANDBOX_PAUSED)) ? "paused" : "running";
}

enum memory_place sandbox_memory_place(const struct sandbox *sb)
{
	/* the memory of a box that is being killed cannot be used again */
	const unsigned holds_memory = BIT(BOX_READY) | BIT(BOX_QUIETING) | BIT(BOX_FREEZING) | BIT(BOX_FROZEN) |
	    BIT(BOX_SNAPSHOTTING) | BIT(BOX_CHECKPOINTING) | BIT(BOX_RELEASED) | BIT(BOX_THAWING);
	bool ram = holds_memory & BIT(sb->box.state), disk = sb->saved.what & SAVED_MEMORY;

	if (sb->saved.what & SAVED_NO_RAM)
		return MEMORY_NONE;
	return ram && disk ? MEMORY_BOTH : ram ? MEMORY_RAM : disk ? MEMORY_DISK : MEMORY_LOST;
}

const char *sandbox_memory_name(const struct sandbox *sb)
{
	static const char *const names[MEMORY_PLACES] = {
		[MEMORY_RAM] = "ram",
		[MEMORY_BOTH] = "ram+disk",
		[MEMORY_DISK] = "disk",
		[MEMORY_NONE] = "none",
		[MEMORY_LOST] = "lost",
	};

	return names[sandbox_memory_place(sb)];
}

uint64_t sandbox_memory(const struct sandbox *sb)
{
	const struct usage_sample *s = sandbox_live(sb) ? usage_get(&sb->usage, sb->usage.n - 1) : NULL;

	return s ? s->mem_bytes : 0;
}

bool sandbox_live(const struct sandbox *sb)
{
	return box_present(&sb->box) && !(sb->state == SANDBOX_RESUMING && sb->box.state == BOX_STARTING);
}

bool sandbox_being_saved(const struct sandbox *sb)
{
	return sb->state == SANDBOX_SAVING || (sb->state == SANDBOX_RUNNING && sb->box.state == BOX_RELEASED);
}

bool sandbox_is_warm(const struct sandbox *sb)
{
	return sb->state == SANDBOX_STARTING && sb->row == ROW_COPY_NONE;
}

/* --- waiters and connections --------------------------------------------------------------------------------- */

void sandbox_wait(struct sandbox *sb, struct sandbox_waiter *w)
{
	LIST_INSERT_HEAD(&sb->waiters, w, link);
}

void sandbox_attach(struct sandbox *sb, struct sandbox_link *l)
{
	LIST_INSERT_HEAD(&sb->links, l, link);
	l->hooked = true;
}

void sandbox_detach(struct sandbox_link *l)
{
	if (l->hooked)
		LIST_REMOVE(l, link);
	l->hooked = false;
}

void sandbox_break_links(struct sandbox *sb)
{
	struct sandbox_link *l;

	if (sb->use && sb->all->on_stopped)
		sb->all->on_stopped(sb->all->on_stopped_user, sb);
	while ((l = LIST_FIRST(&sb->links))) {
		sandbox_detach(l);
		l->broken(l, sb);
	}
	sandbox_idle_close(sb);
}
