/* SPDX-License-Identifier: Apache-2.0 */
/* front: coming to an end in good order. */
#include "front/front.h"
#include "front/link/agent_link.h"

#include "base/fd.h"
#include "base/log.h"
#include "front/account/capacity.h"
#include "front/account/census.h"
#include "front/account/keyring.h"
#include "front/account/metrics.h"
#include "front/account/penalty.h"
#include "front/account/quota.h"
#include "front/api/hold.h"
#include "front/boot.h"
#include "front/link/certs.h"
#include "front/link/rules.h"
#include "front/link/warden_link.h"
#include "front/proxy/debug.h"
#include "front/record/logbook.h"
#include "front/record/webhooks.h"
#include "front/sandbox/row.h"
#include "front/sandbox/sandbox.h"
#include "front/sandbox/table.h"
#include "front/sandbox/warm_pool.h"
#include "front/util/expiry.h"
#include "front/util/vault.h"
#include "http/server.h"
#include "loop/loop.h"
#include "store/db.h"

#define STOP_GRACE_MS 3000 /* for answers under way */

void front_log_level(struct front *f, enum log_level level)
{
	f->log_level = level;
	log_set_level(level);
}

void front_stop(struct front *f)
{
	if (f->stopping)
		return;
	f->stopping = true;
	log_info("stopping", "requests=%u", f->requests);
	if (f->server)
		http_server_stop_accepting(f->server);
	debug_stop_accepting(f->debug);
	builds_stop(f);
	warm_pool_stop(f->warm_pool);
	if (f->requests == 0)
		loop_stop(f->loop);
	else
		timer_arm(f->grace, STOP_GRACE_MS);
}

void front_request_begun(struct front *f)
{
	if (++f->requests > f->most_requests)
		f->most_requests = f->requests;
}

void front_request_over(struct front *f)
{
	if (--f->requests == 0 && f->stopping)
		timer_arm(f->grace, 0); /* not at once: the answer may still be in a queue */
}

void front_done(struct front *f)
{
	struct sandbox *sb;

	hold_end_all(f);
	http_server_free(f->server);
	agent_link_free(f->agent);
	debug_free(f->debug);
	certs_free(f->certs);
	for (size_t i = 0; i < f->n_doors; i++)
		fd_close(f->doors[i].fd);
	boot_free(f->boot);
	builds_stop(f);
	snapshots_free(f);
	volumes_free(f);
	rows_free(f);
	if (f->sandboxes && f->metrics)
		capacity_free(take_ptr(&f->capacity));
	warm_pool_free(f->warm_pool);
	memory_close(&f->memory);
	for (sb = f->sandboxes ? sandbox_table_next(f->sandboxes, NULL) : NULL; sb;
	    sb = sandbox_table_next(f->sandboxes, sb))
		init_watch_end(sb);
	logbook_save(f->logbook);
	if (f->keyring)
		quota_save(f);
	quota_free(f);
	while (f->sandboxes && (sb = sandbox_table_next(f->sandboxes, NULL)))
		sandbox_forget(sb);
	sandbox_table_free(f->sandboxes);
	/* All that is still written is written before the link goes: the warden takes a front without one for gone, and
	 * ends it. */
	census_free(f->census);
	notebooks_free(f);
	audit_free(f);
	warden_link_free(f->warden);
	expiry_free(f->expiry);
	timer_free(f->tick);
	timer_free(f->grace);
	sigwatch_free(f->on_term);
	sigwatch_free(f->on_int);
	rules_link_free(f->rules);
	webhooks_free(take_ptr(&f->webhooks));
	keyring_free(f->keyring);
	penalties_free(f->penalties);
	metrics_free(f->metrics);
	logbook_free(f->logbook);
	vault_free(f->vault);
	store_close(f->uploads);
	store_close(f->store);
	loop_free(f->loop);
}
