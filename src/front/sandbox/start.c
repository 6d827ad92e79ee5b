/* SPDX-License-Identifier: Apache-2.0 */
/* front/sandbox/start: from STARTING to RUNNING: the warden starts the box, init takes its settings. A sandbox
 * from the warm pool is already started and only settled; if that fails, another one is started cold. */
#include "front/sandbox/start.h"

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "front/account/accounts.h"
#include "front/account/census.h"
#include "front/link/links.h"
#include "front/record/records.h"
#include "front/sandbox/end.h"
#include "front/sandbox/init_watch.h"
#include "front/sandbox/row.h"
#include "front/sandbox/sandbox.h"
#include "front/sandbox/sandboxes.h"
#include "front/sandbox/settle.h"
#include "front/sandbox/state.h"
#include "front/sandbox/table.h"
#include "front/sandbox/warm_pool.h"
#include "store/sandboxes.h"

#define WARM_WAIT_MS 3000 /* short, because a cold start is the alternative */

static void sandbox_started(struct sandbox *sb)
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
	sb->all->account->metrics->starts_ok++;
	census_started(sb->all->account->census, sb->team);
	sandbox_note(sb, LOG_LVL_INFO, JOURNAL_LIFECYCLE, "sandbox created", "template=%s timeout_s=%u request=%s",
	    sb->spec.tpl.name, sb->spec.timeout_s, sb->request);
	sandbox_ref(sb);
	sandbox_set_state(sb, SANDBOX_RUNNING);
	init_watch_use(sb); /* the client has its answer by now */
	sandbox_unref(sb);
}

/* No client knows the id yet, so it can change. */
static void sandbox_start_afresh(struct sandbox *sb)
{
	struct sandboxes *all = sb->all;

	box_kill(&sb->box, sb->request, NULL, NULL); /* in case it still runs */
	box_done(&sb->box);
	warm_pool_taken(all->warm_pool, &sb->spec, false);
	sandbox_table_drop(all->table, sb);
	sandbox_table_make_id(all->table, sb->id);
	box_init(&sb->box, all->link, sb->id);
	sandbox_table_put(all->table, sb);
	sb->usage.last_cpu_ns = sb->paid.cpu_ns = 0;
	if (row_add(sb, ROW_STARTING, &sb->fail) < 0) {
		(void)err_wrap(&sb->fail, "record the sandbox");
		sandbox_exited(sb, END_FAILED, "start failed");
		return;
	}
	sandbox_start_cold(sb);
}

/* Drops the caller's reference. */
static void start_over(struct sandbox *sb)
{
	sb->all->starts--;
	sandbox_unref(sb);
}

/* The box was started, but could not be settled. */
static void start_failed(struct sandbox *sb, const struct box_result *re)
{
	if (sandbox_is_warm(sb)) {
		log_warn("a warm sandbox does not respond, starting another", "id=%s err=%s request=%s", sb->id,
		    re->text, sb->request);
		sandbox_start_afresh(sb);
		return;
	}
	if (re->status)
		log_warn("init refused its settings", "id=%s status=%d", sb->id, re->status);
	(void)err_set(&sb->fail, re->no, "start sandbox: %s", re->text);
	sandbox_kill(sb, END_FAILED, "start failed");
}

static void on_settled(void *user, const struct box_result *re)
{
	static const struct box_result died = { .no = ECHILD, .text = "it has exited", .fd = -1 };
	struct sandbox *sb = user;
	int fd = re->fd;

	if (sb->state != SANDBOX_STARTING || re->exited) {
		fd_close(fd);
	} else if (sandbox_is_warm(sb) && sb->warm_died) {
		fd_close(fd);
		start_failed(sb, &died);
	} else if (re->no) {
		start_failed(sb, re);
	} else {
		if (sandbox_is_warm(sb))
			warm_pool_taken(sb->all->warm_pool, &sb->spec, true);
		sandbox_started(sb);
		if (fd >= 0)
			sandbox_idle_put_fd(sb, fd);
	}
	start_over(sb);
}

/* Errors of the host are not the client's fault: a missing file of the server must not become a 404. EINVAL is the
 * client's, for example an invalid mount path. */
static int fault_of(int no)
{
	return no == ENOENT || no == EPERM || no == EEXIST ? EIO : no;
}

static void on_started(void *user, const struct box_result *re)
{
	struct sandbox *sb = user;

	if (sb->state != SANDBOX_STARTING || re->exited) {
		start_over(sb);
	} else if (re->no) {
		(void)err_set(&sb->fail, fault_of(re->no), "start sandbox: %s", re->text);
		sandbox_exited(sb, END_FAILED, "start failed");
		start_over(sb);
	} else {
		sandbox_settle(sb, SANDBOX_SETTLE_MS,
		    sb->spec.from_what & SAVED_START ? sandbox_start_wait_s(sb->all) : 0, on_settled, sb);
	}
}

void sandbox_start_warm(struct sandbox *sb)
{
	sb->all->starts++;
	log_info("taken from the warm pool", "id=%s template=%s request=%s", sb->id, sb->spec.tpl.name, sb->request);
	sandbox_settle(sb, WARM_WAIT_MS, 0, on_settled, sandbox_ref(sb));
}

void sandbox_start_cold(struct sandbox *sb)
{
	uint32_t how = !sb->spec.from[0] ? 0 : sb->spec.from_what & SAVED_MEMORY ? START_RESTORE : START_KEPT;

	sb->all->starts++;
	warm_pool_make_room(sb->all->warm_pool);
	sandbox_box_start(sb, how, sb->spec.from, on_started, sandbox_ref(sb));
}
