/* SPDX-License-Identifier: Apache-2.0 */
/* front/sandbox/pause: from RUNNING to PAUSED and back, as policies over the box.
 *
 *	pause		init closes its connections; freeze; snapshot the disk; write the row; state PAUSED.
 *			Without memory, the box is killed as well, once the row is written
 *	later		write a checkpoint of the paused sandbox in the background; it stays frozen
 *	resume		thaw; or restore from the checkpoint, if the warden no longer has the box; or boot
 *			from the disk
 *
 * Each saved state gets a new name, so that the previous one can be deleted in the background. The row is written
 * before anything is discarded: after a crash the next front finds either the sandbox or its saved state. */
#include "front/sandbox/pause.h"

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
#include "front/link/links.h"
#include "front/link/saved.h"
#include "front/sandbox/end.h"
#include "front/sandbox/row.h"
#include "front/sandbox/sandbox.h"
#include "front/sandbox/sandboxes.h"
#include "front/sandbox/save.h"
#include "front/sandbox/settle.h"
#include "front/sandbox/state.h"
#include "front/sandbox/table.h"
#include "front/util/mem.h"
#include "loop/loop.h"

/* time limit for init to close its connections; open ones may make a checkpoint fail */
#define QUIET_MS 1000
#define RUN_ON_MS 5000      /* if the pause at its timeout fails, it is not tried again before this */
#define TRIES_MAX 4         /* the cause of a failure rarely disappears by itself */
#define HURRY_TRIES 2       /* a backup does not wait for more attempts */
#define TRY_AGAIN_MS 500ull /* multiplied by 4 after each attempt */
#define CHECKPOINTS_MAX 1   /* at the same time: they read and write much */
#define GONE_MS 10000ull    /* time limit for the previous run to be cleaned up */
#define LOOK_MS 20

static bool has(const struct sandbox *sb, uint32_t what)
{
	return sb->saved.what & what;
}

/* --- pause -------------------------------------------------------------------------------------------------- */

struct pause {
	struct sandbox *sb;
	bool memory; /* false: the box is killed at the end */
};

static void paused(struct sandbox *sb)
{
	sandbox_note_life(sb, LOG_LVL_INFO, has(sb, SAVED_NO_RAM) ? "sandbox paused, its disk only" : "sandbox paused");
	sandbox_set_state(sb, SANDBOX_PAUSED);
}

static void pause_free(struct pause *p)
{
	sandbox_unref(p->sb);
	free(p);
}

/* Returns true and frees p if the sandbox was killed or has exited. */
static bool pause_over(struct pause *p, const struct box_result *re)
{
	if (p->sb->state == SANDBOX_PAUSING && !re->exited)
		return false;
	pause_free(p);
	return true;
}

static void on_thawed_again(void *user, const struct box_result *re)
{
	struct sandbox *sb = user;

	if (re->no)
		log_error("could not thaw after an unfinished pause", "id=%s err=%s", sb->id, re->text);
	if (sb->state == SANDBOX_PAUSING && !re->exited) {
		if (sb->end_ms < clock_wall_ms() + RUN_ON_MS)
			sb->end_ms = clock_wall_ms() + RUN_ON_MS;
		sandbox_set_state(sb, re->no ? SANDBOX_PAUSED : SANDBOX_RUNNING);
	}
	sandbox_unref(sb);
}

/* Lets the sandbox run again. Frees p. */
static void pause_failed(struct pause *p, int no, const char *text)
{
	struct sandbox *sb = sandbox_ref(p->sb);

	pause_free(p);
	(void)err_set(&sb->fail, no, "pause: %s", text);
	log_warn("could not pause: the sandbox keeps running", "id=%s err=%s", sb->id, text);
	sandbox_note_life(sb, LOG_LVL_ERROR, "sandbox could not be paused");
	sandbox_delete_saved(sb);
	box_thaw(&sb->box, sb->request, on_thawed_again, sb);
}

void sandbox_run_on(struct sandbox *sb)
{
	assert(sb->state == SANDBOX_PAUSING);
	box_thaw(&sb->box, "", on_thawed_again, sandbox_ref(sb));
}

static void resume_now(struct sandbox *sb);
static void resume_failed(struct sandbox *sb, int no, const char *text);

/* If the kill works, EV_EXITED follows and sandbox_outlives() continues. If it fails, there is no exit to wait for. */
static void on_reclaimed(void *user, const struct box_result *re)
{
	struct sandbox *sb = user;

	if (re->no && sb->state == SANDBOX_PAUSING)
		paused(sb);
	else if (re->no == ENOENT && sb->state == SANDBOX_RESUMING)
		resume_now(sb);
	else if (re->no && sb->state == SANDBOX_RESUMING)
		resume_failed(sb, re->no, re->text);
	sandbox_unref(sb);
}

void sandbox_reclaim(struct sandbox *sb)
{
	box_kill(&sb->box, sb->request, on_reclaimed, sandbox_ref(sb));
}

/* The disk is saved, or cannot be saved on this server and need not be. Frees p. */
static void disk_done(struct pause *p)
{
	struct sandbox *sb = p->sb;
	uint64_t end_ms = sb->end_ms;
	struct err e;

	sb->end_ms = clock_wall_ms();
	if (!p->memory)
		sb->saved.what |= SAVED_NO_RAM;
	if (row_try(sb, ROW_PAUSED, &e) < 0) { /* must be in the store before a crash */
		sb->end_ms = end_ms;
		pause_failed(p, e.no, e.text);
		return;
	}
	if (p->memory)
		paused(sb);
	else
		sandbox_reclaim(sb);
	pause_free(p);
}

static void on_snapshotted(void *user, const struct box_result *re)
{
	struct pause *p = user;

	if (pause_over(p, re))
		return;
	if (re->no == ENOTSUP && p->memory) { /* a server without storage: only in memory */
		memset(&p->sb->saved, 0, sizeof p->sb->saved);
		disk_done(p);
	} else if (re->no) {
		pause_failed(p, re->no, re->text);
	} else {
		p->sb->saved.what = SAVED_DISK;
		disk_done(p);
	}
}

static void on_frozen(void *user, const struct box_result *re)
{
	struct pause *p = user;
	struct sandbox *sb = p->sb;

	if (pause_over(p, re))
		return;
	if (re->no) {
		pause_failed(p, re->no, re->text);
		return;
	}
	sb->saved.name[0] = 'k';
	rand_label(sb->saved.name + 1, 19);
	box_snapshot(&sb->box, sb->saved.name, sb->request, on_snapshotted, p);
}

/* Freezes the sandbox whether or not init has closed its connections. */
static void on_quiet(void *user, const struct box_result *re)
{
	struct pause *p = user;

	if (re->no == ETIMEDOUT)
		log_warn("init does not close its connections, pausing anyway", "id=%s", p->sb->id);
	if (!pause_over(p, re))
		box_freeze(&p->sb->box, p->sb->request, on_frozen, p);
}

void sandbox_pause(struct sandbox *sb, bool memory)
{
	struct pause *p = must_alloc(sizeof *p);

	*p = (struct pause) { sandbox_ref(sb), memory };
	sb->fail = ERR_INIT;
	sandbox_set_state(sb, SANDBOX_PAUSING); /* closes the front's connections to it */
	if (memory && sandbox_can_checkpoint(sb))
		box_quiet(&sb->box, QUIET_MS, sb->request, on_quiet, p);
	else
		box_freeze(&sb->box, sb->request, on_frozen, p);
}

/* --- while paused ------------------------------------------------------------------------------------------- */

static void on_checkpointed(void *user, const struct box_result *re)
{
	struct sandbox *sb = user;

	sb->all->checkpoints--;
	/* Also if a resume overtook it, which may fail: then its memory is to be written all the same. */
	if (re->no && sb->saved.next_try_ms == UINT64_MAX)
		sb->saved.next_try_ms = clock_wall_ms() + (TRY_AGAIN_MS << (2 * sb->saved.tries));
	if (re->no && sb->state == SANDBOX_PAUSED && box_present(&sb->box)) {
		log_warn("the memory of a paused sandbox is not saved to disk", "id=%s err=%s", sb->id, re->text);
		sandbox_note(sb, LOG_LVL_WARN, JOURNAL_LIFECYCLE,
		    "memory stays frozen, it could not be written to disk", "request=");
		(void)str_copy(sb->saved.why_not, sizeof sb->saved.why_not, str_of(re->text));
	} else if (!re->no && sb->state == SANDBOX_PAUSED) {
		sb->saved.what |= SAVED_MEMORY;
		sb->saved.bytes = re->image->bytes;
		sb->saved.why_not[0] = '\0';
		row_set(sb, ROW_PAUSED);
		sandbox_note(sb, LOG_LVL_INFO, JOURNAL_LIFECYCLE, "memory written to disk", "bytes=%llu dump_ms=%llu",
		    (unsigned long long)re->image->bytes, (unsigned long long)re->image->dump_us / 1000);
	}
	sandbox_unref(sb);
}

void sandbox_pause_tick(struct sandbox *sb)
{
	struct sandboxes *all = sb->all;

	if (sb->state != SANDBOX_PAUSED || sb->box.state != BOX_FROZEN || sb->saved.what != SAVED_DISK ||
	    !sandbox_can_checkpoint(sb) || all->checkpoints >= CHECKPOINTS_MAX || sb->saved.tries >= TRIES_MAX)
		return;
	uint64_t now = clock_wall_ms();

	if (now < sb->saved.next_try_ms ||
	    (!all->hurries && !all->writes_first && now < sb->end_ms + all->link->opt.checkpoint_after_s * 1000ull))
		return;
	sb->saved.tries++;
	sb->saved.next_try_ms = UINT64_MAX; /* not before this attempt has completed */
	all->checkpoints++;
	box_checkpoint(&sb->box, sb->saved.name, 0, sb->request, on_checkpointed, sandbox_ref(sb));
}

/* The front can open no file once it serves, so it opens this one at its start. The last byte is the state: the
 * requester writes 'r'; the front writes 'w' each second while memory is still being written, and 'd' when it is
 * done. */
int sandbox_hurry_open(struct sandboxes *all, struct err *e)
{
	autofree char *path = str_fmt("%s/" SANDBOX_HURRY, all->link->opt.state_dir);

	if (!path)
		return err_set(e, ENOMEM, "out of memory");
	all->hurry_fd = open(path, O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
	return all->hurry_fd < 0 ? err_sys(e, "open '%s'", path) : 0;
}

void sandbox_hurry_look(struct sandboxes *all)
{
	struct stat st;
	char word = '\0';

	if (fstat(all->hurry_fd, &st) == 0 && st.st_size > 0 && pread(all->hurry_fd, &word, 1, st.st_size - 1) < 0)
		word = '\0';
	all->hurries = word == 'r' || word == 'w';
}

static bool will_be_written(const struct sandbox *sb)
{
	return sb->state == SANDBOX_PAUSING ||
	    (sb->state == SANDBOX_PAUSED && sandbox_memory_place(sb) == MEMORY_RAM && sb->saved.what == SAVED_DISK &&
		sb->saved.tries < HURRY_TRIES);
}

/* A sandbox with no attempts left is not waited for; the requester sees in the store that its memory is missing. */
static bool is_memory_written(const struct sandboxes *all)
{
	bool works = all->checkpoints > 0;

	for (const struct sandbox *sb = sandbox_table_next(all->table, NULL); all->can_checkpoint && sb && !works;
	    sb = sandbox_table_next(all->table, sb))
		works = will_be_written(sb);
	return !works;
}

bool sandbox_write_memory(struct sandboxes *all)
{
	for (struct sandbox *sb = sandbox_table_next(all->table, NULL); sb; sb = sandbox_table_next(all->table, sb))
		sandbox_pause_tick(sb);
	return is_memory_written(all);
}

void sandbox_hurry_done(struct sandboxes *all)
{
	if (all->hurries && write(all->hurry_fd, is_memory_written(all) ? "d" : "w", 1) != 1)
		log_warn("could not report the progress of writing memory", "file=" SANDBOX_HURRY " err=%m");
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
	struct sandbox_saved old = sb->saved;

	memset(&sb->saved, 0, sizeof sb->saved);
	sb->started_us = sandbox_now_us();
	sb->active_ms = sb->started_us / 1000;
	sb->end_ms = sandbox_latest_end(sb, sb->started_us / 1000 + sb->resume_timeout_s * 1000ull);
	row_set(sb, ROW_RUNNING);
	sandbox_note_life(sb, LOG_LVL_INFO, "sandbox resumed");
	if (old.name[0])
		saved_delete(sb->all->link, old.name);
	sandbox_set_state(sb, SANDBOX_RUNNING);
}

static void on_thawed(void *user, const struct box_result *re)
{
	struct sandbox *sb = user;

	if (sb->state == SANDBOX_RESUMING && re->no == 0)
		resumed(sb);
	else if (sb->state == SANDBOX_RESUMING && !re->exited)
		resume_failed(sb, re->no, re->text);
	sandbox_unref(sb);
}

static void on_settled(void *user, const struct box_result *re)
{
	struct sandbox *sb = user;

	if (sb->state != SANDBOX_RESUMING || re->exited) {
		fd_close(re->fd);
	} else if (re->no) {
		sandbox_reclaim(sb);
		resume_failed(sb, re->no, re->text);
	} else {
		resumed(sb);
		if (re->fd >= 0)
			sandbox_idle_put_fd(sb, re->fd);
	}
	sandbox_unref(sb);
}

struct later {
	struct sandbox *sb;
	struct timer *timer;
};

static void on_later(void *user)
{
	struct later *l = user;

	if (l->sb->state == SANDBOX_RESUMING)
		resume_now(l->sb);
	sandbox_unref(l->sb);
	timer_free(l->timer);
	free(l);
}

/* Retries a start that failed with EEXIST: the previous run is not cleaned up yet, because a server was killed
 * during its start, or because it failed to settle. */
static bool begin_later(struct sandbox *sb)
{
	if (clock_mono_ms() >= sb->resume_by_ms)
		return false;
	struct later *l = must_alloc(sizeof *l);

	l->timer = timer_new(sb->all->link->loop, on_later, l);
	if (!l->timer) {
		free(l);
		return false;
	}
	l->sb = sandbox_ref(sb);
	timer_arm(l->timer, LOOK_MS);
	return true;
}

static void on_started(void *user, const struct box_result *re)
{
	struct sandbox *sb = user;

	if (sb->state == SANDBOX_RESUMING && re->no == EEXIST && begin_later(sb)) {
		sandbox_unref(sb);
		return;
	}
	if (sb->state != SANDBOX_RESUMING || re->no) {
		if (sb->state == SANDBOX_RESUMING && !re->exited)
			resume_failed(sb, re->no, re->text);
		sandbox_unref(sb);
		return;
	}
	sb->sent_before += sb->usage.last_sent;
	memset(&sb->paid, 0, sizeof sb->paid);
	sb->paid.known = true;
	sb->oom_kills = 0;
	usage_renew(&sb->usage, clock_mono_ms());
	sandbox_settle(sb, SANDBOX_SETTLE_MS, 0, on_settled, sb);
}

static void thaw(struct sandbox *sb)
{
	box_thaw(&sb->box, sb->request, on_thawed, sandbox_ref(sb));
}

/* Starts from the saved state. If the box still exists, it is killed first, and sandbox_outlives() continues when
 * it has exited. */
static void begin_again(struct sandbox *sb)
{
	bool boots = has(sb, SAVED_NO_RAM);

	if (!box_present(&sb->box))
		sandbox_box_start(sb, boots ? START_KEPT : START_RESTORE, sb->saved.name, on_started, sandbox_ref(sb));
	else if (sb->box.state != BOX_KILLING)
		sandbox_reclaim(sb);
}

static void refuse(struct sandbox *sb)
{
	if (has(sb, SAVED_DISK))
		resume_failed(sb, ESTALE,
		    "what it had in memory is lost; with memory: false it boots from its disk (atoll resume --boot)");
	else
		resume_failed(sb, ENOTSUP, "its disk was not kept");
}

static void resume_now(struct sandbox *sb)
{
	static void (*const way[])(struct sandbox *sb) = {
		[MEMORY_RAM] = thaw,
		[MEMORY_BOTH] = thaw,
		[MEMORY_DISK] = begin_again,
		[MEMORY_NONE] = begin_again,
		[MEMORY_LOST] = refuse,
	};

	way[sandbox_memory_place(sb)](sb);
}

void sandbox_resume(struct sandbox *sb, uint32_t timeout_s, bool memory)
{
	bool gives_up = !memory && has(sb, SAVED_DISK) && !has(sb, SAVED_NO_RAM);
	struct err e;

	sb->fail = ERR_INIT;
	sb->resume_timeout_s = timeout_s;
	sb->resume_by_ms = clock_mono_ms() + GONE_MS;
	sandbox_set_state(sb, SANDBOX_RESUMING);
	if (sb->all->writes_first) { /* what runs when the front exits is killed: it must stay paused */
		resume_failed(sb, ESHUTDOWN, "the server is stopping");
		return;
	}
	sb->saved.what |= gives_up ? SAVED_NO_RAM : 0;
	if (gives_up && row_try(sb, ROW_PAUSED, &e) < 0) {
		sb->saved.what &= ~SAVED_NO_RAM;
		resume_failed(sb, e.no, e.text);
	} else if (!memory && !has(sb, SAVED_DISK)) {
		resume_failed(sb, ENOTSUP, "its disk was not kept, so it cannot boot from it");
	} else {
		resume_now(sb);
	}
}

/* --- exit of the box while paused --------------------------------------------------------------------------- */

bool sandbox_outlives(struct sandbox *sb, enum box_state was)
{
	if (!has(sb, SAVED_DISK))
		return false;
	switch (sb->state) {
	case SANDBOX_PAUSING:
		paused(sb);
		return true;
	case SANDBOX_RESUMING:
		if (was == BOX_KILLING)
			resume_now(sb);
		else if (was != BOX_ABSENT) /* ABSENT: the exit of an earlier run */
			resume_failed(sb, ECHILD, "it ended at once");
		return true;
	case SANDBOX_PAUSED:
		if (!has(sb, SAVED_MEMORY | SAVED_NO_RAM)) {
			log_error("the memory of a paused sandbox is lost", "id=%s", sb->id);
			sandbox_note_life(sb, LOG_LVL_ERROR,
			    "sandbox died while it was paused: its memory is lost, its disk is kept");
		}
		return true;
	default:
		return false;
	}
}
