/* SPDX-License-Identifier: Apache-2.0 */
/* front/sandbox/end: kills a sandbox, or takes note that it has exited. */
#include "front/sandbox/end.h"

#include <string.h>

#include "base/fd.h"
#include "base/log.h"
#include "front/account/accounts.h"
#include "front/link/links.h"
#include "front/link/saved.h"
#include "front/sandbox/facts.h"
#include "front/sandbox/init_watch.h"
#include "front/sandbox/row.h"
#include "front/sandbox/sandbox.h"
#include "front/sandbox/sandboxes.h"
#include "front/sandbox/state.h"
#include "loop/loop.h"
#include "store/sandboxes.h"

#define KILL_TRIES 5
#define KILL_RETRY_MS 300

void sandbox_delete_saved(struct sandbox *sb)
{
	if (sb->saved.name[0])
		saved_delete(sb->all->link, sb->saved.name);
	memset(&sb->saved, 0, sizeof sb->saved);
}

static void ask_kill(void *user);

static void on_killed(void *user, const struct box_result *re)
{
	struct sandbox *sb = user;

	if (re->no && re->no != ENOENT && ++sb->kill_tries < KILL_TRIES) {
		log_warn("could not kill a sandbox, retrying", "id=%s err=%s", sb->id, re->text);
		if (!sb->retry)
			sb->retry = timer_new(sb->all->link->loop, ask_kill, sb);
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
	sb->all->account->metrics->ends[why]++;
	if (sb->state == SANDBOX_STARTING)
		sb->all->account->metrics->starts_failed++;
}

void sandbox_kill(struct sandbox *sb, enum end_reason why, const char *reason)
{
	log_info("killing sandbox", "id=%s reason='%s' request=%s", sb->id, reason, sb->request);
	count_end(sb, why);
	sandbox_record_end(sb, reason);
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
	sandbox_record_end(sb, reason);
	init_watch_end(sb);
	sandbox_note_life(sb, LOG_LVL_ERROR, why == END_OOM ? "sandbox ran out of memory" : "sandbox died");
	if (sb->state == SANDBOX_STARTING && !sb->fail.no)
		(void)err_set(&sb->fail, ECHILD, "sandbox ended while it was starting: %s", reason);
	row_end(sb, reason);
	sandbox_delete_saved(sb);
	sandbox_set_state(sb, SANDBOX_DEAD);
}
