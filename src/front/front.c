/* SPDX-License-Identifier: Apache-2.0 */
/* front: orderly shutdown. */
#include "front/front.h"
#include "front/console/oidc.h"
#include "front/link/agent_link.h"

#include "base/fd.h"
#include "base/log.h"
#include "front/account/capacity.h"
#include "front/account/census.h"
#include "front/account/hold.h"
#include "front/account/keyring.h"
#include "front/account/metrics.h"
#include "front/account/penalty.h"
#include "front/account/quota.h"
#include "front/boot.h"
#include "front/link/certs.h"
#include "front/link/saved.h"
#include "front/link/start_queue.h"
#include "front/link/warden_link.h"
#include "front/proxy/debug.h"
#include "front/proxy/lanes.h"
#include "front/record/audit.h"
#include "front/record/logbook.h"
#include "front/record/notebook.h"
#include "front/record/webhooks.h"
#include "front/sandbox/charge.h"
#include "front/sandbox/init_watch.h"
#include "front/sandbox/life.h"
#include "front/sandbox/pause.h"
#include "front/sandbox/row.h"
#include "front/sandbox/rules.h"
#include "front/sandbox/sandbox.h"
#include "front/sandbox/snapshots.h"
#include "front/sandbox/table.h"
#include "front/sandbox/volumes.h"
#include "front/sandbox/warm_pool.h"
#include "front/template/build.h"
#include "front/util/expiry.h"
#include "front/util/memory.h"
#include "front/util/vault.h"
#include "http/server.h"
#include "loop/loop.h"
#include "store/db.h"

#define STOP_GRACE_MS 3000 /* for answers in progress */

/* Called when the last request has ended. */
static void on_quiet(void *user)
{
	struct front *f = user;

	if (f->link.stopping && lanes_requests(f->proxy.lanes) == 0)
		timer_arm(f->grace, 0); /* from the loop: the answer may still be queued */
}

int front_exit_code(const struct err *e)
{
	switch (e->no) {
	case EPROTO:
		return EXIT_NO_USE;
	case EUCLEAN:
		return EXIT_DAMAGED;
	case EROFS:
		return EXIT_READ_ONLY;
	default:
		return 1;
	}
}

void front_connect(struct front *f)
{
	f->link.on_quiet = on_quiet;
	f->link.quiet_user = f;
	f->account.link = &f->link;
	f->account.count_of_key = charge_count_of_key;
	f->account.count_user = &f->sandbox;
	f->record.link = &f->link;
	f->record.account = &f->account;
	f->sandbox.link = &f->link;
	f->sandbox.account = &f->account;
	f->sandbox.record = &f->record;
	f->build.link = &f->link;
	f->build.account = &f->account;
	f->build.record = &f->record;
	f->build.sandbox = &f->sandbox;
	f->proxy.link = &f->link;
	f->proxy.account = &f->account;
	f->proxy.record = &f->record;
	f->proxy.sandbox = &f->sandbox;
	f->console.link = &f->link;
	f->console.account = &f->account;
	f->api.link = &f->link;
	f->api.account = &f->account;
	f->api.record = &f->record;
	f->api.sandbox = &f->sandbox;
	f->api.build = &f->build;
	f->api.proxy = &f->proxy;
	f->api.console = &f->console;
}

void front_stop(struct front *f)
{
	if (f->link.stopping)
		return;
	f->link.stopping = true;
	lanes_stop(f->proxy.lanes);

	uint32_t requests = f->link.requests + lanes_requests(f->proxy.lanes);

	log_info("stopping", "requests=%u", requests);
	if (f->api.server)
		http_server_stop_accepting(f->api.server);
	debug_stop_accepting(f->proxy.debug);
	builds_stop(&f->build);
	warm_pool_stop(f->sandbox.warm_pool);
	if (f->sandbox.writes_first)
		(void)sandbox_write_memory(&f->sandbox);
	timer_arm(f->grace, requests == 0 ? 0 : STOP_GRACE_MS);
}

void front_done(struct front *f)
{
	struct sandbox *sb;

	start_queue_stop(f->link.starts);
	oidc_link_free(take_ptr(&f->console.oidc));
	hold_end_all(&f->account);
	lanes_free(take_ptr(&f->proxy.lanes));
	http_server_free(f->api.server);
	agent_link_free(f->link.agent);
	debug_free(f->proxy.debug);
	certs_free(f->link.certs);
	for (size_t i = 0; i < f->n_doors; i++)
		fd_close(f->doors[i].fd);
	boot_free(f->boot);
	builds_stop(&f->build);
	snapshots_free(&f->sandbox);
	volumes_free(&f->sandbox);
	rows_free(&f->sandbox);
	if (f->sandbox.table && f->account.metrics)
		capacity_free(take_ptr(&f->account.capacity));
	warm_pool_free(f->sandbox.warm_pool);
	memory_close(&f->sandbox.memory);
	for (sb = f->sandbox.table ? sandbox_table_next(f->sandbox.table, NULL) : NULL; sb;
	    sb = sandbox_table_next(f->sandbox.table, sb))
		init_watch_end(sb);
	logbook_save(f->record.logbook);
	if (f->account.keyring)
		quota_save(&f->account);
	charge_free(&f->sandbox);
	while (f->sandbox.table && (sb = sandbox_table_next(f->sandbox.table, NULL)))
		sandbox_forget(sb);
	sandbox_table_free(f->sandbox.table);
	/* Everything is written before the link is closed: when the link ends, the warden takes the front for dead
	 * and kills it. */
	census_free(f->account.census);
	notebooks_free(&f->record);
	audit_free(&f->record);
	f->unanswered = f->link.warden && warden_link_due(f->link.warden);
	saved_free(&f->link);
	start_queue_free(f->link.starts);
	warden_link_free(f->link.warden);
	expiry_free(f->sandbox.expiry);
	timer_free(f->tick);
	timer_free(f->grace);
	sigwatch_free(f->on_term);
	sigwatch_free(f->on_int);
	rules_link_free(f->sandbox.rules);
	webhooks_free(take_ptr(&f->record.webhooks));
	console_close(&f->console);
	keyring_free(f->account.keyring);
	penalties_free(f->account.penalties);
	metrics_free(f->account.metrics);
	logbook_free(f->record.logbook);
	vault_free(f->link.vault);
	store_close(f->link.uploads);
	store_close(f->link.store);
	loop_free(f->link.loop);
}
