/* SPDX-License-Identifier: Apache-2.0 */
/* front/sandbox/oom: handles the report that the kernel has killed a process of a sandbox at its memory limit:
 * adds it to the log and the counters, and informs init, which may wait for it before it reports the exit of a
 * command. */
#include "front/sandbox/oom.h"

#include <stdio.h>

#include "base/fd.h"
#include "base/log.h"
#include "front/account/accounts.h"
#include "front/account/metrics.h"
#include "front/link/init_call.h"
#include "front/sandbox/sandbox.h"
#include "front/sandbox/sandboxes.h"

#define TELL_MS 2000

static void on_notified(void *user, const struct init_result *re)
{
	struct sandbox *sb = user;

	if (re->no)
		log_debug("could not tell init that its sandbox has reached its memory limit", "id=%s err=%s", sb->id,
		    re->text);
	if (re->fd >= 0)
		sandbox_idle_put_fd(sb, re->fd);
	sandbox_unref(sb);
}

void sandbox_oom(struct sandbox *sb, uint32_t kills)
{
	uint32_t more = kills > sb->oom_kills ? kills - sb->oom_kills : 1;
	unsigned long long limit_mb = sb->spec.limits.mem_bytes >> 20;
	char body[80];

	sb->oom_kills = kills;
	sb->all->account->metrics->oom_kills += more;
	log_info("memory limit reached", "id=%s kills=%u limit_mb=%llu", sb->id, kills, limit_mb);
	sandbox_note(sb, LOG_LVL_WARN, JOURNAL_LIFECYCLE, "memory limit reached, a process was killed",
	    "error=MEMORY_LIMIT kills=%u limit_mb=%llu", kills, limit_mb);
	if (sb->state != SANDBOX_RUNNING)
		return;
	(void)snprintf(body, sizeof body, "{\"kills\":%u,\"limitMB\":%llu}", kills, limit_mb);
	struct init_request rq = {
		.id = sb->id,
		.request = "",
		.method = "POST",
		.path = "/atoll/oom",
		.body = str_of(body),
		.fd = -1,
		.wait_ms = TELL_MS,
	};

	(void)init_call_new(sb->all->link, &rq, on_notified, sandbox_ref(sb));
}
