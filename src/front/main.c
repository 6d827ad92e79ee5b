/* SPDX-License-Identifier: Apache-2.0 */
/* atoll-front: the unprivileged server: HTTP API, proxy into sandboxes, store. The warden starts it with the
 * socket to itself as fd 3, its options (ipc/settings.h) as fd 4, and the listening sockets from fd 5 on. */
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/str.h"
#include "front/account/capacity.h"
#include "front/account/census.h"
#include "front/account/keyring.h"
#include "front/account/metrics.h"
#include "front/account/penalty.h"
#include "front/account/quota.h"
#include "front/api/dispatch.h"
#include "front/boot.h"
#include "front/confine.h"
#include "front/console/oidc.h"
#include "front/front.h"
#include "front/link/agent_link.h"
#include "front/link/certs.h"
#include "front/link/warden_link.h"
#include "front/proxy/debug.h"
#include "front/record/audit.h"
#include "front/record/history.h"
#include "front/record/logbook.h"
#include "front/record/notebook.h"
#include "front/record/webhooks.h"
#include "front/sandbox/charge.h"
#include "front/sandbox/life.h"
#include "front/sandbox/meter.h"
#include "front/sandbox/oom.h"
#include "front/sandbox/pause.h"
#include "front/sandbox/refusals.h"
#include "front/sandbox/row.h"
#include "front/sandbox/rules.h"
#include "front/sandbox/sample.h"
#include "front/sandbox/sandbox.h"
#include "front/sandbox/table.h"
#include "front/sandbox/upkeep.h"
#include "front/sandbox/volumes.h"
#include "front/sandbox/warm_pool.h"
#include "front/template/build.h"
#include "front/util/expiry.h"
#include "front/util/vault.h"
#include "http/server.h"
#include "ipc/check.h"
#include "loop/carrier.h"
#include "loop/loop.h"
#include "store/db.h"
#include "store/uploads.h"

#define FD_WARDEN 3
#define FD_DOORS (OPTIONS_FD + 1)
#define ACTIVE_EVERY_S 30 /* how often the time of last use is written */
#define TIDY_EVERY_S 10
#define WRITES_EVERY_MS 50
#define WRITES_MS 60000 /* the warden kills a front that is still there 15 seconds later */
#define CROWD 256       /* number of connections or requests above which memory is returned */

static const char *reason_text(uint32_t reason)
{
	switch (reason) {
	case EXIT_KILLED:
		return "killed";
	case EXIT_OOM:
		return "out of memory";
	default:
		return "died";
	}
}

static void on_exited(void *user, const struct msg_exited *m)
{
	struct front *f = user;

	if (!check_id(m->id))
		return;
	if (f->boot)
		boot_exited(f, m);
	charge_exited(&f->sandbox, m);

	struct sandbox *sb = sandbox_table_find(f->sandbox.table, str_of(m->id));

	if (!sb && (build_exited(&f->build, m->id) || warm_pool_exited(f->sandbox.warm_pool, m->id)))
		return;
	if (sb) /* NULL: the front has killed it itself */
		sandbox_box_exited(sb,
		    m->reason == EXIT_OOM          ? END_OOM
			: m->reason == EXIT_KILLED ? END_KILLED
						   : END_DIED,
		    reason_text(m->reason));
}

static void on_oom(void *user, const struct msg_oom *m)
{
	struct front *f = user;
	struct sandbox *sb = check_id(m->id) ? sandbox_table_find(f->sandbox.table, str_of(m->id)) : NULL;

	if (sb)
		sandbox_oom(sb, m->kills);
}

static void on_grace_over(void *user)
{
	struct front *f = user;

	bool late = clock_mono_ms() >= f->writes_until_ms;

	if (f->sandbox.writes_first && !late && (f->boot || !sandbox_write_memory(&f->sandbox)))
		timer_arm(f->grace, WRITES_EVERY_MS);
	else
		loop_stop(f->link.loop);
}

static void on_shutdown(void *user, const struct msg_shutdown *m)
{
	struct front *f = user;

	f->sandbox.writes_first = m->kills;
	f->writes_until_ms = clock_mono_ms() + WRITES_MS;
	front_stop(f);
}

static void on_signal(void *user, int signo)
{
	(void)signo;
	front_stop(user);
}

static void on_lost(void *user, const char *why)
{
	struct front *f = user;

	log_info("the warden is gone, exiting", "why=%s", why);
	f->lost = true;
	loop_stop(f->link.loop);
}

static void on_log_level(void *user, const struct msg_level *m)
{
	(void)user;
	if (m->level <= LOG_LVL_ERROR)
		log_set_level((enum log_level)m->level);
}

static void on_refused(void *user, const struct msg_refused *m)
{
	struct front *f = user;

	refusals_call(&f->sandbox, m);
}

static void on_blocked(void *user, const struct msg_blocked *m)
{
	struct front *f = user;

	refusals_connection(&f->sandbox, m);
}

static void on_tls_files(void *user)
{
	struct front *f = user;

	if (f->link.certs)
		certs_again(f->link.certs);
}

static void on_egress(void *user, int fd)
{
	struct front *f = user;

	rules_link_set(f->sandbox.rules, fd);
}

static void on_agent(void *user, int fd)
{
	struct front *f = user;

	agent_link_set(f->link.agent, fd);
}

static int on_agent_event(void *user, struct str json, struct err *e)
{
	struct api *a = user;

	return audit_event(a->record, json, e);
}

static const struct agent_link_ops agent_ops = { .serve = &dispatch_ops, .on_event = on_agent_event };

static void on_webhooks(void *user, int fd)
{
	struct front *f = user;

	webhooks_link(f->record.webhooks, fd);
}

static void on_oidc(void *user, int fd)
{
	struct front *f = user;

	if (f->console.oidc)
		oidc_link_set(f->console.oidc, fd);
	else
		fd_close(fd); /* console = false */
}

static void on_answered(void *user, enum msg_type op, uint64_t us)
{
	struct front *f = user;

	histogram_add(&f->account.metrics->warden[op], us);
}

static const struct warden_ops warden_ops = {
	.on_exited = on_exited,
	.on_oom = on_oom,
	.on_shutdown = on_shutdown,
	.on_log_level = on_log_level,
	.on_tls_files = on_tls_files,
	.on_refused = on_refused,
	.on_blocked = on_blocked,
	.on_answered = on_answered,
	.on_lost = on_lost,
	.on_egress = on_egress,
	.on_agent = on_agent,
	.on_webhooks = on_webhooks,
	.on_oidc = on_oidc,
};

static void on_expired(void *user, struct expiry_entry *en)
{
	(void)user;
	sandbox_expired(en);
}

/* After many connections have closed, their freed memory is spread over the heap, and malloc returns it only on
 * request. */
static void give_memory_back(struct front *f)
{
	size_t conns = f->api.server ? http_server_conns(f->api.server) : 0;

	if (conns > f->most_conns)
		f->most_conns = conns;
	if ((f->most_conns > CROWD && conns < f->most_conns / 2) ||
	    (f->link.most_requests > CROWD && f->link.requests < f->link.most_requests / 2)) {
		f->most_conns = conns;
		f->link.most_requests = f->link.requests;
		(void)malloc_trim(0);
	}
}

static void on_tick(void *user)
{
	struct front *f = user;
	uint64_t now = loop_now_ms(f->link.loop);
	uint32_t n = 0;

	sandbox_hurry_look(&f->sandbox);
	usage_ticks(&f->sandbox);
	for (struct sandbox *sb = sandbox_table_next(f->sandbox.table, NULL); sb;
	    sb = sandbox_table_next(f->sandbox.table, sb)) {
		usage_tick(sb, now);
		sandbox_pause_tick(sb);
		sandbox_idle_tick(sb);
		if ((f->link.ticks + n++) % ACTIVE_EVERY_S == 0) /* spread over the seconds */
			row_note_active(sb);
		if ((f->link.ticks + n) % METER_EVERY_S == 0)
			meter_note(sb);
	}
	sandbox_hurry_done(&f->sandbox);
	warden_link_tick(f->link.warden);
	api_tick(&f->api);
	rows_tick(&f->sandbox);
	agent_link_tick(f->link.agent);
	census_tick(f->account.census, clock_wall_ms());
	debug_tick(f->proxy.debug);
	memory_tick(&f->sandbox);
	quota_tick(&f->account);
	over_quota_tick(&f->sandbox);
	capacity_tick(f->account.capacity);
	audit_tick(&f->record);
	volumes_tick(&f->sandbox);
	warm_pool_tick(f->sandbox.warm_pool);
	if (history_due(&f->record))
		retention_prune(&f->sandbox);
	history_tick(&f->record);
	if (f->link.ticks++ % TIDY_EVERY_S == 0) {
		keyring_tidy(f->account.keyring, clock_wall_ms());
		console_tick(&f->console);
	}
	give_memory_back(f);
	timer_arm(f->tick, 1000);
}

static void take_doors(struct front *f)
{
	static const struct door kinds[DOOR_KINDS] = {
		[DOOR_HTTP] = { .is_plain_too = true },
		[DOOR_HTTPS] = { .is_tls = true },
		[DOOR_BOTH] = { .is_tls = true, .is_plain_too = true },
		[DOOR_DEBUG_ENVD] = { .is_plain_too = true, .debug_port = PORT_ENVD },
		[DOOR_DEBUG_INTERPRETER] = { .is_plain_too = true, .debug_port = PORT_INTERPRETER },
	};

	for (; f->n_doors < f->link.opt.n_doors; f->n_doors++) {
		f->doors[f->n_doors] = kinds[f->link.opt.doors[f->n_doors]];
		f->doors[f->n_doors].fd = FD_DOORS + (int)f->n_doors;
	}
}

static int take_options(struct front *f, struct err *e)
{
	struct front_options *opt = &f->link.opt;

	if (options_take(OPTIONS_FRONT, opt, sizeof *opt, e) < 0)
		return -e->no;
	if (strcmp(opt->domain, "localhost") == 0)
		opt->domain[0] = '\0';
	log_set_level(opt->log_level);
	take_doors(f);
	return 0;
}

static int open_state(struct front *f, struct err *e)
{
	autofree char *path = str_fmt("%s/atoll.db", f->link.opt.state_dir);

	autofree char *uploads = str_fmt("%s/uploads.db", f->link.opt.state_dir);
	autofree char *sdk_key = str_fmt("%s/sdk-key", f->link.opt.state_dir);

	if (!path || !uploads || !sdk_key)
		return err_set(e, ENOMEM, "name the state file");
	if (store_open(path, &f->link.store, e) < 0 || uploads_open(uploads, &f->link.uploads, e) < 0 ||
	    vault_open(f->link.opt.state_dir, &f->link.vault, e) < 0 ||
	    audit_new(&f->record, f->link.opt.state_dir, e) < 0 ||
	    notebooks_new(&f->record, f->link.opt.state_dir, e) < 0 || sandbox_hurry_open(&f->sandbox, e) < 0 ||
	    keyring_open(f->link.store, f->link.opt.key_file, &f->account.keyring, e) < 0 ||
	    keyring_add_sdk_key(f->account.keyring, sdk_key, e) < 0 || quota_open(&f->account, e) < 0)
		return -e->no;
	return 0;
}

static int set_up(struct front *f, struct err *e)
{
	int dir_fd = f->link.opt.has_console ? FD_DOORS + (int)f->n_doors : -1;
	bool have = fd_cloexec(FD_WARDEN, true) == 0 && (dir_fd < 0 || fd_cloexec(dir_fd, true) == 0);

	for (size_t i = 0; i < f->n_doors; i++)
		have = have && fd_cloexec(f->doors[i].fd, true) == 0 && fd_nonblock(f->doors[i].fd, true) == 0;
	if (!have)
		return err_set(e, EBADF, "the warden's fds are missing");
	if (confine_early(&f->link.fds, e) < 0 || open_state(f, e) < 0 || console_open(&f->console, dir_fd, e) < 0)
		return -e->no;
	f->sandbox.table = sandbox_table_new();
	f->sandbox.rules = rules_link_new(&f->sandbox);
	f->link.agent = agent_link_new(&f->link, &agent_ops, &f->api);
	f->record.webhooks = webhooks_new(&f->record);
	f->account.capacity = capacity_new(&f->account, charge_look, &f->sandbox);
	f->account.penalties = penalties_new();
	f->account.metrics = metrics_new();
	f->account.census = census_new(f->link.store, clock_wall_ms());
	LIST_INIT(&f->sandbox.departed);
	TAILQ_INIT(&f->build.list);
	TAILQ_INIT(&f->api.reading);
	TAILQ_INIT(&f->sandbox.watches);
	LIST_INIT(&f->account.held);
	LIST_INIT(&f->api.takings);
	f->link.loop = loop_new();
	if (!f->link.loop)
		return err_set(e, ENOMEM, "make the loop");
	loop_leaving_max(f->link.loop, links_max_leaving(&f->link));
	carrier_limit(links_max_pipes(&f->link));
	f->record.logbook = logbook_new(&f->record);
	if (!f->record.logbook)
		return err_set(e, ENOMEM, "open the logs");
	f->sandbox.expiry = expiry_new(f->link.loop, on_expired, f);
	f->tick = timer_new(f->link.loop, on_tick, f);
	f->grace = timer_new(f->link.loop, on_grace_over, f);
	f->link.warden = warden_link_new(f->link.loop, FD_WARDEN, &warden_ops, f);
	if (!f->sandbox.expiry || !f->tick || !f->grace || !f->link.warden)
		return err_set(e, ENOMEM, "set up the loop");
	f->on_term = sigwatch_new(f->link.loop, SIGTERM, on_signal, f);
	f->on_int = sigwatch_new(f->link.loop, SIGINT, on_signal, f);
	if (webhooks_load(f->record.webhooks, e) < 0)
		return -e->no;
	if (!f->on_term || !f->on_int)
		return err_set(e, ENOMEM, "watch signals");
	return 0;
}

int main(void)
{
	struct front f = { .sandbox.memory = { .meminfo_fd = -1 } };
	struct err e;

	log_setup("atoll-front", LOG_LVL_INFO);
	front_connect(&f);
	if (take_options(&f, &e) < 0) {
		(void)fprintf(stderr, "atoll-front: %s (it is started by atolld)\n", e.text);
		return 2;
	}
	if (set_up(&f, &e) < 0) {
		log_error("cannot start", "err=%s", e.text);
		return front_exit_code(&e);
	}
	boot_begin(&f);
	loop_run(f.link.loop);
	front_done(&f);
	if (f.lost || f.unanswered)
		/* without freeing: requests to the warden never get a reply, and a leak checker would report them */
		_exit(f.exit_code);
	return f.exit_code;
}
