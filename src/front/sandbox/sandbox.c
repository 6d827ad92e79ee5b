/* SPDX-License-Identifier: Apache-2.0 */
/* front/sandbox/sandbox: the lifecycle of a sandbox. */
#include "front/sandbox/sandbox.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/rand.h"
#include "front/account/census.h"
#include "front/account/quota.h"
#include "front/front.h"
#include "front/record/audit_acts.h"
#include "front/record/events.h"
#include "front/record/logbook.h"
#include "front/record/notebook.h"
#include "front/sandbox/impl.h"
#include "front/sandbox/meter.h"
#include "front/sandbox/row.h"
#include "front/sandbox/table.h"
#include "front/sandbox/warm_pool.h"
#include "front/util/mem.h"
#include "front/util/time_json.h"
#include "loop/loop.h"
#include "store/sandboxes.h"

#define KILL_TRIES 5
#define KILL_RETRY_MS 300

#define SAVE_FIRST_MS 200 /* a pause that is due during a snapshot is retried after this */
struct sandbox *sandbox_ref(struct sandbox *sb)
{
	sb->refs++;
	return sb;
}

void sandbox_idle_close(struct sandbox *sb)
{
	sb->front->link.idle -= (uint32_t)sb->warm_pool.n;
	upstream_close_all(&sb->warm_pool);
}

int sandbox_idle_take(struct sandbox *sb)
{
	size_t before = sb->warm_pool.n;
	int fd = upstream_take(&sb->warm_pool);

	sb->front->link.idle -= (uint32_t)(before - sb->warm_pool.n);
	return fd;
}

void sandbox_idle_put(struct sandbox *sb, int fd)
{
	size_t before = sb->warm_pool.n;

	if (sb->state != SANDBOX_RUNNING || sb->front->link.idle >= links_max_idle(&sb->front->link)) {
		fd_close(fd);
		return;
	}
	upstream_put(&sb->warm_pool, fd, loop_now_ms(sb->front->link.loop));
	sb->front->link.idle += (uint32_t)(sb->warm_pool.n - before);
}

void sandbox_idle_tick(struct sandbox *sb)
{
	size_t before = sb->warm_pool.n;

	upstream_expire(&sb->warm_pool, loop_now_ms(sb->front->link.loop));
	sb->front->link.idle -= (uint32_t)(before - sb->warm_pool.n);
}

void sandbox_unref(struct sandbox *sb)
{
	if (!sb || --sb->refs > 0)
		return;
	timer_free(sb->retry);
	box_done(&sb->box);
	spec_done(&sb->spec);
	json_decref(sb->secrets);
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
}

void sandbox_use_end(struct sandbox *sb)
{
	sb->users--;
	sb->active_ms = clock_wall_ms();
}

uint64_t sandbox_active_ms(const struct sandbox *sb)
{
	return sb->users > 0 ? clock_wall_ms() : sb->active_ms;
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
		sb->log = logbook_open(sb->front->record.logbook, sb->id, sb->team, true);
	logbook_add(sb->log, en);
}

void sandbox_note(struct sandbox *sb, enum log_level level, enum journal_kind kind, const char *message,
    const char *fmt, ...)
{
	struct journal_entry en = { .at_ms = UINT64_MAX, .level = level, .kind = kind, .message = str_of(message) };
	char text[1024];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);

	struct str rest = str_of(text);

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
	uint64_t most = sb->started_us / 1000 + sb->front->link.opt.max_lifetime_s * 1000ull;

	return sb->front->link.opt.max_lifetime_s && end_ms > most ? most : end_ms;
}

static struct sandbox *sandbox_alloc(struct front *f)
{
	struct sandbox *sb = must_alloc(sizeof *sb);

	sb->front = f;
	sb->refs = 1; /* held by the table */
	sb->warm_fd = -1;
	LIST_INIT(&sb->waiters);
	LIST_INIT(&sb->links);
	share_init(&sb->share, f->link.loop);
	usage_init(&sb->usage, clock_mono_ms());
	return sb;
}

void sandbox_make_id(const struct front *f, char id[ID_SIZE])
{
	do {
		id[0] = 'i';
		rand_label(id + 1, 19);
	} while (sandbox_table_find(f->sandbox.table, str_of(id)));
}

int sandbox_new(struct front *f, const char *team, const char *key, struct spec *sp, const struct warm_pool_gift *warm,
    struct sandbox **ret, struct err *e)
{
	struct sandbox *sb = sandbox_alloc(f);

	if (warm)
		memcpy(sb->id, warm->id, sizeof sb->id);
	else
		sandbox_make_id(f, sb->id);
	box_init(&sb->box, &f->link, sb->id);
	if (warm) {
		box_adopt(&sb->box, false);
		sb->warm_fd = warm->fd;
		sb->usage.last_cpu_ns = sb->paid.cpu_ns = warm->cpu_ns;
	}
	(void)str_copy(sb->team, sizeof sb->team, str_of(team));
	(void)str_copy(sb->key, sizeof sb->key, str_of(key));
	sb->paid.known = true;
	sb->spec = *sp;
	*sp = (struct spec) { 0 };
	if (sb->spec.flags & SPEC_SECURE)
		token_make(sb->envd_token);
	if (sb->spec.flags & SPEC_PRIVATE_TRAFFIC)
		token_make(sb->traffic_token);
	sb->events.known = true; /* a new sandbox has no events yet */
	sb->created_ms = clock_wall_ms();
	sb->started_us = sb->created_ms * 1000;
	sb->active_ms = sb->noted_active_ms = sb->created_ms;
	sb->end_ms = sb->created_ms + sb->spec.timeout_s * 1000ull;
	if (!warm && row_add(sb, ROW_STARTING, e) < 0) {
		sandbox_unref(sb);
		return err_wrap(e, "record the sandbox");
	}
	sandbox_table_put(f->sandbox.table, sb);
	*ret = sb;
	return 0;
}

struct sandbox *sandbox_restore(struct front *f, const struct sandbox_row *row, bool live, bool frozen)
{
	struct sandbox *sb = sandbox_alloc(f);
	/* The previous front died before it could record a freeze or a thaw. */
	bool is_caught = frozen && row->state == ROW_RUNNING, is_freed = !frozen && row->state == ROW_PAUSED;

	if (row_load(sb, row) < 0) {
		sandbox_unref(sb);
		return NULL;
	}
	box_init(&sb->box, &f->link, sb->id);
	if (live)
		box_adopt(&sb->box, frozen);
	if (row->state == ROW_PAUSED)
		sb->stopped_ms = row->end_ms;
	if (!frozen) /* it has run since, so the saved state is outdated */
		memset(&sb->saved, 0, sizeof sb->saved);
	sb->state = is_caught ? SANDBOX_PAUSING : frozen ? SANDBOX_PAUSED : SANDBOX_RUNNING;
	if (is_freed) {
		sb->end_ms = clock_wall_ms() + sb->spec.timeout_s * 1000ull;
		row_save(sb);
	}
	sandbox_table_put(f->sandbox.table, sb);
	sb->log = logbook_open(f->record.logbook, sb->id, sb->team, false);
	meter_load(sb);
	if (is_freed) /* it was thawed a moment ago: the time paused does not count */
		meter_start(sb);
	else if (sandbox_counts(sb->state))
		meter_adopt(sb);
	if (is_caught)
		sandbox_run_on(sb);
	else if (live && (sb->saved.what & SAVED_NO_RAM)) /* the previous front did not get to kill it */
		sandbox_reclaim(sb);
	if (!frozen) {
		census_running(f->account.census, sb->team, 1);
		sandbox_arm_expiry(sb);
	}
	return sb;
}

void sandbox_started(struct sandbox *sb)
{
	sb->started_us = sandbox_now_us();
	sb->end_ms = sandbox_latest_end(sb, sb->started_us / 1000 + sb->spec.timeout_s * 1000ull);
	sb->active_ms = sb->started_us / 1000;
	/* CPU time and wall time both count from before the start */
	sb->usage.next_mono_ms = clock_mono_ms() + USAGE_FIRST_MS;
	if (sb->row != ROW_COPY_NONE ? row_try(sb, ROW_RUNNING, &sb->fail) < 0
				     : row_add(sb, ROW_RUNNING, &sb->fail) < 0) {
		(void)err_wrap(&sb->fail, "record the sandbox");
		sandbox_kill(sb, END_FAILED, "start failed");
		return;
	}
	sb->front->account.metrics->starts_ok++;
	census_started(sb->front->account.census, sb->team);
	sandbox_note(sb, LOG_LVL_INFO, JOURNAL_LIFECYCLE, "sandbox created", "template=%s timeout_s=%u request=%s",
	    sb->spec.tpl.name, sb->spec.timeout_s, sb->request);
	sandbox_ref(sb);
	sandbox_set_state(sb, SANDBOX_RUNNING);
	init_watch_use(sb); /* the client has its answer by now */
	sandbox_unref(sb);
}

/* No client knows the id yet, so it can change. */
void sandbox_start_afresh(struct sandbox *sb)
{
	struct front *f = sb->front;

	box_kill(&sb->box, sb->request, NULL, NULL); /* in case it still runs */
	box_done(&sb->box);
	warm_pool_taken(f->sandbox.warm_pool, &sb->spec, false);
	sandbox_table_drop(f->sandbox.table, sb);
	sandbox_make_id(f, sb->id);
	box_init(&sb->box, &f->link, sb->id);
	sandbox_table_put(f->sandbox.table, sb);
	sb->usage.last_cpu_ns = sb->paid.cpu_ns = 0;
	if (row_add(sb, ROW_STARTING, &sb->fail) < 0) {
		(void)err_wrap(&sb->fail, "record the sandbox");
		sandbox_exited(sb, END_FAILED, "start failed");
		return;
	}
	sandbox_start_cold(sb);
}

void sandbox_set_timeout(struct sandbox *sb, uint32_t timeout_s, bool extend_only)
{
	uint64_t end = sandbox_latest_end(sb, clock_wall_ms() + timeout_s * 1000ull);

	assert(sb->state == SANDBOX_RUNNING);
	if (extend_only && end <= sb->end_ms)
		return;
	sb->end_ms = end;
	row_set(sb, ROW_RUNNING);
	sandbox_arm_expiry(sb);
	event_note(sb, EVENT_UPDATED, json_pack("{s:o}", "set_timeout", time_json(end)));
	sandbox_note(sb, LOG_LVL_INFO, JOURNAL_LIFECYCLE, "timeout set", "timeout_s=%u request=%s", timeout_s,
	    sb->request);
}

static void ask_kill(void *user);

static void on_killed(void *user, const struct box_result *re)
{
	struct sandbox *sb = user;

	if (re->no && re->no != ENOENT && ++sb->kill_tries < KILL_TRIES) {
		log_warn("could not kill a sandbox, retrying", "id=%s err=%s", sb->id, re->text);
		if (!sb->retry)
			sb->retry = timer_new(sb->front->link.loop, ask_kill, sb);
		if (sb->retry) {
			timer_arm(sb->retry, KILL_RETRY_MS); /* the timer takes over the reference */
			return;
		}
	}
	if (re->no && re->no != ENOENT) {
		(void)err_set(&sb->fail, re->no, "kill: %s", re->text);
		log_error("could not kill a sandbox, giving up", "id=%s err=%s", sb->id, re->text);
	}
	sandbox_set_state(sb, SANDBOX_DEAD);
	sandbox_unref(sb);
}

static void ask_kill(void *user)
{
	struct sandbox *sb = user;

	box_kill(&sb->box, sb->request, on_killed, sb);
}

static void count_end(struct sandbox *sb, enum end_reason why)
{
	sb->end_why = why;
	sb->front->account.metrics->ends[why]++;
	if (sb->state == SANDBOX_STARTING)
		sb->front->account.metrics->starts_failed++;
}

void sandbox_kill(struct sandbox *sb, enum end_reason why, const char *reason)
{
	log_info("killing sandbox", "id=%s reason='%s' request=%s", sb->id, reason, sb->request);
	count_end(sb, why);
	audit_ended(sb, reason);
	notebook_end(sb);
	init_watch_end(sb);
	sandbox_note_life(sb, LOG_LVL_INFO, why == END_EXPIRED ? "sandbox expired" : "sandbox killed");
	sandbox_delete_saved(sb);
	ask_kill(sandbox_ref(sb)); /* first, so that the processes exit while the rest is cleaned up */
	row_end(sb, reason);
	sandbox_set_state(sb, SANDBOX_ENDING);
}

void sandbox_exited(struct sandbox *sb, enum end_reason why, const char *reason)
{
	log_info("sandbox exited", "id=%s reason='%s'", sb->id, reason);
	count_end(sb, why);
	audit_ended(sb, reason);
	notebook_end(sb);
	init_watch_end(sb);
	sandbox_note_life(sb, LOG_LVL_ERROR, why == END_OOM ? "sandbox ran out of memory" : "sandbox died");
	if (sb->state == SANDBOX_STARTING && !sb->fail.no)
		(void)err_set(&sb->fail, ECHILD, "sandbox ended while it was starting: %s", reason);
	row_end(sb, reason);
	sandbox_delete_saved(sb);
	sandbox_set_state(sb, SANDBOX_DEAD);
}

void sandbox_box_exited(struct sandbox *sb, enum end_reason why, const char *reason)
{
	enum box_state was = sb->box.state;

	if (sandbox_is_warm(sb))
		return; /* the connection breaks as well, and then another sandbox is started */
	/* The exit of the previous run: the warden answers a start before it reports the end of what it started. */
	if (sb->state == SANDBOX_RESUMING && was == BOX_STARTING)
		return;
	sandbox_ref(sb);
	sb->ruling = NULL;
	box_exited(&sb->box); /* completes the step in flight, which cleans up */
	if (!sandbox_outlives(sb, was))
		sandbox_exited(sb, why, reason);
	sandbox_unref(sb);
}

void sandbox_forget(struct sandbox *sb)
{
	row_note_active(sb);
	meter_stop(sb);
	expiry_clear(sb->front->sandbox.expiry, &sb->expiry);
	sandbox_table_drop(sb->front->sandbox.table, sb);
	sandbox_break_links(sb);
	sandbox_unref(sb);
}

void sandbox_expired(struct expiry_entry *en)
{
	struct sandbox *sb = container_of(en, struct sandbox, expiry);

	sandbox_by(sb, "");
	if ((sb->spec.flags & SPEC_AUTO_PAUSE) && sandbox_being_saved(sb))
		expiry_set(sb->front->sandbox.expiry, en, clock_mono_ms() + SAVE_FIRST_MS);
	else if (sb->spec.flags & SPEC_AUTO_PAUSE)
		sandbox_pause(sb, !(sb->spec.flags & SPEC_PAUSE_DISK));
	else
		sandbox_kill(sb, END_EXPIRED, "expired");
}
