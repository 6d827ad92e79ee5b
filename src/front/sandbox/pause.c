/* SPDX-License-Identifier: Apache-2.0 */
/* front/sandbox/pause: from RUNNING to PAUSED and back.
 *
 *	pause		init closes its connections; freeze; keep the disk; note it in the store; then it is PAUSED.
 *			Without memory it is
 *			ended as well, once the store knows what is kept of it
 *	later		the memory of a paused one is kept, too, in the background; it stays frozen
 *	resume		thaw; or restore from disk, if it is frozen no more; or boot from its disk
 *
 * What is kept has a new name each time, so that removing the last one in the background is in nobody's way. The store
 *is told before anything is given up: whoever comes after a crash finds either the sandbox or what is kept of it. */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/rand.h"
#include "base/str.h"
#include "front/account/metrics.h"
#include "front/front.h"
#include "front/link/forget.h"
#include "front/sandbox/impl.h"
#include "front/sandbox/row.h"
#include "front/sandbox/table.h"
#include "front/util/mem.h"
#include "loop/loop.h"

/* what init may take to close its connections; without it memory may not be kept on disk */
#define QUIET_MS 1000
#define RUN_ON_MS 5000      /* one that could not be paused at its end is not due again at once */
#define TRIES_MAX 4         /* what is in the way is seldom gone by itself */
#define HURRY_TRIES 2       /* a backup does not wait for more */
#define TRY_AGAIN_MS 500ull /* then four times as long each time */
#define CHECKPOINTS_MAX 1   /* at once: they read and write much */
#define GONE_MS 10000ull    /* what its last life may take to be cleared away */
#define LOOK_MS 20

static bool has(const struct sandbox *sb, uint32_t what)
{
	return sb->kept.what & what;
}

static void kept_clear(struct sandbox *sb)
{
	if (sb->kept.name[0])
		forget_kept(&sb->front->link, sb->kept.name);
	memset(&sb->kept, 0, sizeof sb->kept);
}

void sandbox_drop_kept(struct sandbox *sb)
{
	kept_clear(sb);
}

const char *sandbox_memory_name(const struct sandbox *sb)
{
	bool ram = sb->live && !has(sb, KEPT_NO_RAM), disk = has(sb, KEPT_MEMORY) && !has(sb, KEPT_NO_RAM);

	return ram && disk ? "ram+disk" : ram ? "ram" : disk ? "disk" : has(sb, KEPT_NO_RAM) ? "none" : "lost";
}

/* --- pause -------------------------------------------------------------------------------------------------- */

static void paused(struct sandbox *sb)
{
	sandbox_note_life(sb, LOG_LVL_INFO, has(sb, KEPT_NO_RAM) ? "sandbox paused, its disk only" : "sandbox paused");
	sandbox_set_state(sb, SANDBOX_PAUSED);
}

static void on_thawed_again(void *user, const struct warden_reply *re)
{
	struct sandbox *sb = user;

	if (re->no)
		log_error("could not thaw after an unfinished pause", "id=%s err=%s", sb->id, re->text);
	if (sb->state == SANDBOX_PAUSING) {
		if (sb->end_ms < clock_wall_ms() + RUN_ON_MS)
			sb->end_ms = clock_wall_ms() + RUN_ON_MS;
		sandbox_set_state(sb, re->no ? SANDBOX_PAUSED : SANDBOX_RUNNING);
	}
	sandbox_unref(sb);
}

/* It runs on. Takes over a reference. */
static void pause_failed(struct sandbox *sb, int no, const char *text)
{
	(void)err_set(&sb->fail, no, "pause: %s", text);
	log_warn("could not pause: the sandbox keeps running", "id=%s err=%s", sb->id, text);
	sandbox_note_life(sb, LOG_LVL_ERROR, "sandbox could not be paused");
	kept_clear(sb);
	(void)warden_ask_id(sb->front->link.warden, OP_THAW, sb->id, sb->request, on_thawed_again, sb);
}

void sandbox_run_on(struct sandbox *sb)
{
	assert(sb->state == SANDBOX_PAUSING);
	(void)warden_ask_id(sb->front->link.warden, OP_THAW, sb->id, "", on_thawed_again, sandbox_ref(sb));
}

/* EV_EXITED tells the end; an error, that there is none to wait for. */
static void on_let_go(void *user, const struct warden_reply *re)
{
	struct sandbox *sb = user;

	if (re->no && sb->state == SANDBOX_PAUSING) {
		sb->live = re->no != ENOENT;
		paused(sb);
	}
	sandbox_unref(sb);
}

/* Its disk is safe, or cannot be kept here and need not be. Takes over a reference. */
static void disk_done(struct sandbox *sb)
{
	uint64_t end_ms = sb->end_ms;
	struct err e;

	sb->end_ms = clock_wall_ms();
	if (!sb->keeps_memory)
		sb->kept.what |= KEPT_NO_RAM;
	if (row_try(sb, ROW_PAUSED, &e) < 0) { /* who comes after a crash must know of it */
		sb->end_ms = end_ms;
		pause_failed(sb, e.no, e.text);
		return;
	}
	if (!sb->keeps_memory) {
		(void)warden_ask_id(sb->front->link.warden, OP_KILL, sb->id, sb->request, on_let_go, sb);
		return;
	}
	paused(sb);
	sandbox_unref(sb);
}

static void on_disk_kept(void *user, const struct warden_reply *re)
{
	struct sandbox *sb = user;

	if (sb->state != SANDBOX_PAUSING) {
		sandbox_unref(sb);
	} else if (re->no == ENOTSUP && sb->keeps_memory) { /* a server without a pool: then in memory alone */
		memset(&sb->kept, 0, sizeof sb->kept);
		disk_done(sb);
	} else if (re->no) {
		pause_failed(sb, re->no, re->text);
	} else {
		sb->kept.what = KEPT_DISK;
		disk_done(sb);
	}
}

static void ask_keep(struct sandbox *sb, enum msg_type op, warden_fn *fn)
{
	struct msg_keep m = { 0 };

	memcpy(m.id, sb->id, sizeof m.id);
	memcpy(m.name, sb->kept.name, sizeof m.name);
	memcpy(m.request, sb->request, sizeof m.request);
	(void)warden_ask(sb->front->link.warden, op, &m, sizeof m, fn, sb);
}

static void on_frozen(void *user, const struct warden_reply *re)
{
	struct sandbox *sb = user;

	if (sb->state != SANDBOX_PAUSING) {
		sandbox_unref(sb);
		return;
	}
	if (re->no) {
		pause_failed(sb, re->no, re->text);
		return;
	}
	sb->kept.name[0] = 'k';
	rand_label(sb->kept.name + 1, 19);
	ask_keep(sb, OP_SNAPSHOT, on_disk_kept);
}

/* Whether it has closed them or not: it will be frozen. */
static void on_quiet(void *user, const struct init_result *re)
{
	struct sandbox *sb = user;

	if (re->no == ETIMEDOUT)
		log_warn("init does not close its connections, pausing anyway", "id=%s", sb->id);
	if (sb->state == SANDBOX_PAUSING)
		(void)warden_ask_id(sb->front->link.warden, OP_FREEZE, sb->id, sb->request, on_frozen, sb);
	else
		sandbox_unref(sb);
}

void sandbox_pause(struct sandbox *sb, bool memory)
{
	struct init_request rq = {
		.id = sb->id,
		.request = sb->request,
		.method = "POST",
		.path = "/atoll/quiet",
		.fd = -1,
		.wait_ms = QUIET_MS,
	};

	sb->fail = ERR_INIT;
	sb->keeps_memory = memory;
	sandbox_set_state(sb, SANDBOX_PAUSING); /* closes ours */
	sandbox_ref(sb);
	if (memory && sb->front->sandbox.can_checkpoint)
		(void)init_call_new(&sb->front->link, &rq, on_quiet, sb);
	else
		on_quiet(sb, &(struct init_result) { .fd = -1 });
}

/* --- while it is paused ------------------------------------------------------------------------------------- */

static void on_memory_kept(void *user, const struct warden_reply *re)
{
	struct sandbox *sb = user;

	sb->front->sandbox.checkpoints--;
	if (re->no && sb->state == SANDBOX_PAUSED && sb->live) {
		log_warn("the memory of a paused sandbox is not saved to disk", "id=%s err=%s", sb->id, re->text);
		sandbox_note(sb, LOG_LVL_WARN, JOURNAL_LIFECYCLE,
		    "memory stays frozen, it could not be written to disk", "request=");
		(void)str_copy(sb->kept.why_not, sizeof sb->kept.why_not, str_of(re->text));
		sb->kept.next_try_ms = clock_wall_ms() + (TRY_AGAIN_MS << (2 * sb->kept.tries));
	} else if (!re->no && sb->state == SANDBOX_PAUSED) {
		const struct msg_image *m = (const struct msg_image *)re->msg;

		sb->kept.what |= KEPT_MEMORY;
		sb->kept.bytes = m->bytes;
		sb->kept.why_not[0] = '\0';
		row_set(sb, ROW_PAUSED);
		sandbox_note(sb, LOG_LVL_INFO, JOURNAL_LIFECYCLE, "memory written to disk", "bytes=%llu dump_ms=%llu",
		    (unsigned long long)m->bytes, (unsigned long long)m->dump_us / 1000);
	}
	sandbox_unref(sb);
}

void sandbox_pause_tick(struct sandbox *sb)
{
	struct front *f = sb->front;

	if (sb->state != SANDBOX_PAUSED || !sb->live || sb->kept.what != KEPT_DISK || !f->sandbox.can_checkpoint ||
	    f->sandbox.checkpoints >= CHECKPOINTS_MAX || sb->kept.tries >= TRIES_MAX)
		return;
	uint64_t now = clock_wall_ms();

	if (now < sb->kept.next_try_ms ||
	    (!f->sandbox.hurries && !f->sandbox.writes_first &&
		now < sb->end_ms + f->link.opt.checkpoint_after_s * 1000ull))
		return;
	sb->kept.tries++;
	sb->kept.next_try_ms = UINT64_MAX; /* until this one is answered */
	f->sandbox.checkpoints++;
	ask_keep(sandbox_ref(sb), OP_CHECKPOINT, on_memory_kept);
}

/* The front can open no file once it serves, so it has this one open from the start. Its last byte tells where things
 * stand: 'r' is written by who wants memory to be on disk, 'w' by us in each second in which there is something to wait
 * for, 'd' when there is not. */
int sandbox_hurry_open(struct front *f, struct err *e)
{
	autofree char *path = str_fmt("%s/" SANDBOX_HURRY, f->link.opt.state_dir);

	if (!path)
		return err_set(e, ENOMEM, "out of memory");
	f->sandbox.hurry_fd = open(path, O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
	return f->sandbox.hurry_fd < 0 ? err_sys(e, "open '%s'", path) : 0;
}

void sandbox_hurry_look(struct front *f)
{
	struct stat st;
	char word = '\0';

	if (fstat(f->sandbox.hurry_fd, &st) == 0 && st.st_size > 0 &&
	    pread(f->sandbox.hurry_fd, &word, 1, st.st_size - 1) < 0)
		word = '\0';
	f->sandbox.hurries = word == 'r' || word == 'w';
}

static bool will_be_written(const struct sandbox *sb)
{
	return sb->state == SANDBOX_PAUSING
	    ? sb->keeps_memory
	    : sb->state == SANDBOX_PAUSED && sb->live && sb->kept.what == KEPT_DISK && sb->kept.tries < HURRY_TRIES;
}

/* One that was tried as often as it can be is not waited for: whoever asked sees in the store that it is not there. */
static bool is_memory_written(const struct front *f)
{
	bool works = f->sandbox.checkpoints > 0;

	for (const struct sandbox *sb = sandbox_table_next(f->sandbox.table, NULL);
	    f->sandbox.can_checkpoint && sb && !works; sb = sandbox_table_next(f->sandbox.table, sb))
		works = will_be_written(sb);
	return !works;
}

bool sandbox_write_memory(struct front *f)
{
	for (struct sandbox *sb = sandbox_table_next(f->sandbox.table, NULL); sb;
	    sb = sandbox_table_next(f->sandbox.table, sb))
		sandbox_pause_tick(sb);
	return is_memory_written(f);
}

void sandbox_hurry_done(struct front *f)
{
	if (f->sandbox.hurries && write(f->sandbox.hurry_fd, is_memory_written(f) ? "d" : "w", 1) != 1)
		log_warn("could not report the progress of writing memory", "file=" SANDBOX_HURRY " err=%m");
}

uint64_t sandbox_memory(const struct sandbox *sb)
{
	const struct usage_sample *s = sb->live ? usage_get(&sb->usage, sb->usage.n - 1) : NULL;

	return s ? s->mem_bytes : 0;
}

static void on_evicted(void *user, const struct warden_reply *re)
{
	struct sandbox *sb = user;

	if (re->no) /* else EV_EXITED tells */
		sb->evicted = false;
	sandbox_unref(sb);
}

void sandbox_give_back(struct front *f)
{
	struct sandbox *best = NULL;

	for (struct sandbox *sb = sandbox_table_next(f->sandbox.table, NULL); sb;
	    sb = sandbox_table_next(f->sandbox.table, sb)) {
		if (sb->evicted)
			return;
		if (sb->state == SANDBOX_PAUSED && sb->live && has(sb, KEPT_MEMORY) && !has(sb, KEPT_NO_RAM) &&
		    (!best || sandbox_memory(sb) > sandbox_memory(best)))
			best = sb;
	}
	if (!best)
		return;
	best->evicted = true;
	sandbox_by(best, "");
	sandbox_note(best, LOG_LVL_INFO, JOURNAL_LIFECYCLE, "paused sandbox left the memory, it is on disk",
	    "bytes=%llu", (unsigned long long)sandbox_memory(best));
	(void)warden_ask_id(f->link.warden, OP_KILL, best->id, "", on_evicted, sandbox_ref(best));
}

/* --- resume ------------------------------------------------------------------------------------------------- */

static void resume_failed(struct sandbox *sb, int no, const char *text)
{
	(void)err_set(&sb->fail, no, "resume: %s", text);
	log_warn("could not resume: the sandbox stays paused", "id=%s err=%s", sb->id, text);
	sandbox_note_life(sb, LOG_LVL_ERROR, "sandbox could not be resumed");
	sandbox_set_state(sb, SANDBOX_PAUSED);
}

static void resumed(struct sandbox *sb)
{
	struct sandbox_kept old = sb->kept;

	memset(&sb->kept, 0, sizeof sb->kept);
	sb->started_us = sandbox_now_us();
	sb->active_ms = sb->started_us / 1000;
	sb->end_ms = sandbox_latest_end(sb, sb->started_us / 1000 + sb->resume_timeout_s * 1000ull);
	row_set(sb, ROW_RUNNING);
	sandbox_note_life(sb, LOG_LVL_INFO, "sandbox resumed");
	if (old.name[0])
		forget_kept(&sb->front->link, old.name);
	sandbox_set_state(sb, SANDBOX_RUNNING);
}

static void on_thawed(void *user, const struct warden_reply *re)
{
	struct sandbox *sb = user;

	if (sb->state == SANDBOX_RESUMING && re->no == 0)
		resumed(sb);
	else if (sb->state == SANDBOX_RESUMING)
		resume_failed(sb, re->no, re->text);
	sandbox_unref(sb);
}

static void ignore_reply(void *user, const struct warden_reply *re)
{
	(void)user;
	(void)re;
}

static void on_told(void *user, const struct init_result *re)
{
	struct sandbox *sb = user;
	bool good = !re->no && (re->status == 200 || re->status == 204);
	int fd = re->fd;

	if (sb->state == SANDBOX_RESUMING && good) {
		resumed(sb);
		if (fd >= 0)
			sandbox_idle_put(sb, take_fd(&fd));
	} else if (sb->state == SANDBOX_RESUMING) {
		(void)warden_ask_id(sb->front->link.warden, OP_KILL, sb->id, sb->request, ignore_reply, NULL);
		resume_failed(sb, re->no ? re->no : EPROTO, re->no ? re->text : "it refused its settings");
	}
	fd_close(fd);
	sandbox_unref(sb);
}

static void begin_again(struct sandbox *sb);

struct later {
	struct sandbox *sb;
	struct timer *timer;
};

static void on_later(void *user)
{
	struct later *l = user;

	if (l->sb->state == SANDBOX_RESUMING)
		begin_again(l->sb);
	sandbox_unref(l->sb);
	timer_free(l->timer);
	free(l);
}

/* Its last life is not gone yet: a server was killed while it began, or it did not take its settings. */
static bool begin_later(struct sandbox *sb)
{
	if (clock_mono_ms() >= sb->resume_by_ms)
		return false;
	struct later *l = must_alloc(sizeof *l);

	l->timer = timer_new(sb->front->link.loop, on_later, l);
	if (!l->timer) {
		free(l);
		return false;
	}
	l->sb = sandbox_ref(sb);
	timer_arm(l->timer, LOOK_MS);
	return true;
}

static void on_begun(void *user, const struct warden_reply *re)
{
	struct sandbox *sb = user;

	if (sb->state == SANDBOX_RESUMING && re->no == EEXIST && begin_later(sb)) {
		sandbox_unref(sb);
		return;
	}
	if (sb->state != SANDBOX_RESUMING || re->no) {
		if (sb->state == SANDBOX_RESUMING)
			resume_failed(sb, re->no, re->text);
		sandbox_unref(sb);
		return;
	}
	sb->live = true;
	sb->sent_before += sb->usage.last_sent;
	memset(&sb->paid, 0, sizeof sb->paid);
	sb->paid.known = true;
	sb->oom_kills = 0;
	usage_renew(&sb->usage, clock_mono_ms());
	sandbox_tell(sb, SANDBOX_TELL_MS, on_told, sb);
}

/* There is nothing of it but what is kept. */
static void begin_again(struct sandbox *sb)
{
	bool boots = has(sb, KEPT_NO_RAM);

	if (!has(sb, KEPT_DISK))
		resume_failed(sb, ENOTSUP, "its disk was not kept");
	else if (!boots && !has(sb, KEPT_MEMORY))
		resume_failed(sb, ESTALE,
		    "what it had in memory is lost; with memory: false it boots from its disk (atoll resume --boot)");
	else
		sandbox_ask_start(sandbox_ref(sb), boots ? START_KEPT : START_RESTORE, sb->kept.name, on_begun, sb);
}

static void on_ended(void *user, const struct warden_reply *re)
{
	struct sandbox *sb = user;

	if (re->no == ENOENT && sb->state == SANDBOX_RESUMING && sb->ends_first) {
		sb->live = sb->ends_first = false;
		begin_again(sb);
	} else if (re->no && re->no != ENOENT && sb->state == SANDBOX_RESUMING) {
		resume_failed(sb, re->no, re->text);
	}
	sandbox_unref(sb);
}

static void end_first(struct sandbox *sb)
{
	sb->ends_first = true;
	(void)warden_ask_id(sb->front->link.warden, OP_KILL, sb->id, sb->request, on_ended, sandbox_ref(sb));
}

void sandbox_resume(struct sandbox *sb, uint32_t timeout_s, bool memory)
{
	struct warden_link *w = sb->front->link.warden;
	bool gives_up = !memory && has(sb, KEPT_DISK) && !has(sb, KEPT_NO_RAM);
	struct err e;

	sb->fail = ERR_INIT;
	sb->resume_timeout_s = timeout_s;
	sb->resume_by_ms = clock_mono_ms() + GONE_MS;
	sandbox_set_state(sb, SANDBOX_RESUMING);
	sb->kept.what |= gives_up ? KEPT_NO_RAM : 0;
	if (gives_up && row_try(sb, ROW_PAUSED, &e) < 0) {
		sb->kept.what &= ~KEPT_NO_RAM;
		resume_failed(sb, e.no, e.text);
	} else if (!memory && !has(sb, KEPT_DISK)) {
		resume_failed(sb, ENOTSUP, "its disk was not kept, so it cannot boot from it");
	} else if (!sb->live) {
		begin_again(sb);
	} else if (sb->evicted) { /* first its end, which is under way: see sandbox_paused_exited() */
		sb->ends_first = true;
	} else if (has(sb, KEPT_NO_RAM)) {
		end_first(sb);
	} else {
		(void)warden_ask_id(w, OP_THAW, sb->id, sb->request, on_thawed, sandbox_ref(sb));
	}
}

/* --- its end while it is paused ----------------------------------------------------------------------------- */

bool sandbox_paused_exited(struct sandbox *sb)
{
	if (!has(sb, KEPT_DISK) ||
	    (sb->state != SANDBOX_PAUSING && sb->state != SANDBOX_PAUSED && sb->state != SANDBOX_RESUMING))
		return false;
	bool awaited = sb->state == SANDBOX_RESUMING && sb->ends_first;

	sb->live = sb->evicted = sb->ends_first = false;
	if (sb->state == SANDBOX_PAUSING) {
		paused(sb);
	} else if (awaited) {
		begin_again(sb);
	} else if (sb->state == SANDBOX_RESUMING) {
		resume_failed(sb, ECHILD, "it ended at once");
	} else if (!has(sb, KEPT_MEMORY | KEPT_NO_RAM)) {
		log_error("the memory of a paused sandbox is lost", "id=%s", sb->id);
		sandbox_note_life(sb, LOG_LVL_ERROR,
		    "sandbox died while it was paused: its memory is lost, its disk is kept");
	}
	return true;
}
