/* SPDX-License-Identifier: Apache-2.0 */
/* atoll-front: the unprivileged server: HTTP API, proxy into sandboxes, store. The warden starts it with the
 * socket to itself as fd 3, and the listening sockets from fd 4 on, one for each --door. */
#include <getopt.h>
#include <malloc.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/inet.h"
#include "base/log.h"
#include "base/str.h"
#include "front/account/capacity.h"
#include "front/account/census.h"
#include "front/account/keyring.h"
#include "front/account/metrics.h"
#include "front/account/penalty.h"
#include "front/account/quota.h"
#include "front/api/dispatch.h"
#include "front/api/handlers.h"
#include "front/boot.h"
#include "front/confine.h"
#include "front/front.h"
#include "front/link/agent_link.h"
#include "front/link/certs.h"
#include "front/link/warden_link.h"
#include "front/proxy/debug.h"
#include "front/proxy/envd_check.h"
#include "front/record/audit.h"
#include "front/record/audit_acts.h"
#include "front/record/history.h"
#include "front/record/logbook.h"
#include "front/record/notebook.h"
#include "front/record/webhooks.h"
#include "front/sandbox/charge.h"
#include "front/sandbox/meter.h"
#include "front/sandbox/row.h"
#include "front/sandbox/rules.h"
#include "front/sandbox/sample.h"
#include "front/sandbox/sandbox.h"
#include "front/sandbox/table.h"
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
#define FD_DOORS 4
#define MAX_TIMEOUT_S (24 * 3600) /* default of the option, like all of these */
#define HEAD_TIMEOUT_S 30
#define BODY_TIMEOUT_S 60
#define LOGS_KEPT_S (24 * 3600)
#define LOGS_MAX_MB 256
#define HISTORY_KEPT_S (7 * 24 * 3600)
#define VOLUME_MB 1024
#define TEAM_MAX_VOLUMES 100
#define ACTIVE_EVERY_S 30 /* how often the time of last use is written */
#define TIDY_EVERY_S 10
#define REFUSALS_EVERY_MS 600000
#define REFUSALS_MAX 120 /* log entries per sandbox in that time */
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
	charge_exited(f, m);

	struct sandbox *sb = sandbox_table_find(f->sandbox.table, str_of(m->id));

	if (!sb && (build_exited(f, m->id) || warm_pool_exited(f->sandbox.warm_pool, m->id)))
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

	if (f->sandbox.writes_first && !late && (f->boot || !sandbox_write_memory(f)))
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
	if (m->level <= LOG_LVL_ERROR)
		front_log_level(user, (enum log_level)m->level);
}

/* Limits the entries about refused system calls, so that they do not push everything else out of the log. */
static bool may_note_refusal(struct sandbox *sb)
{
	uint64_t now = loop_now_ms(sb->front->link.loop);

	if (now - sb->refused_since_ms >= REFUSALS_EVERY_MS) {
		sb->refused_since_ms = now;
		sb->refused_noted = 0;
	}
	if (sb->refused_noted == REFUSALS_MAX)
		sandbox_note(sb, LOG_LVL_WARN, JOURNAL_SECURITY,
		    "too many refused system calls: not listed for some minutes", "%s", "");
	return sb->refused_noted++ < REFUSALS_MAX;
}

/* The warden has checked only the id. The rest comes from the kernel, and the process name from the sandbox. */
static void on_refused(void *user, const struct msg_refused *m)
{
	struct front *f = user;
	char pid[16] = "", count[16];

	if (!check_id(m->id) || !check_text(m->call, sizeof m->call) || !check_text(m->process, sizeof m->process) ||
	    !check_text(m->why, sizeof m->why))
		return;
	struct sandbox *sb = sandbox_table_find(f->sandbox.table, str_of(m->id));

	f->account.metrics->refused_calls += m->count;
	if (!sb || sandbox_is_warm(sb))
		return;
	audit_syscall(sb, m);
	if (!may_note_refusal(sb))
		return;
	if (!m->call[0]) {
		sandbox_note(sb, LOG_LVL_WARN, JOURNAL_SECURITY,
		    "too many refused system calls: not counted for a minute", "%s", "");
		return;
	}
	(void)snprintf(count, sizeof count, "%u", m->count);
	if (m->pid)
		(void)snprintf(pid, sizeof pid, "%u", m->pid);
	struct journal_entry en = { .at_ms = UINT64_MAX,
		.level = LOG_LVL_WARN,
		.kind = JOURNAL_SECURITY,
		.message = str_of("system call refused"),
		.fields = { { str_of("call"), str_of(m->call) }, { str_of("process"), str_of(m->process) },
		    { str_of("pid"), str_of(pid) }, { str_of("count"), str_of(count) },
		    { str_of("reason"), str_of(m->why) } },
		.n_fields = 5 };

	sandbox_note_entry(sb, &en);
}

static void on_tls_files(void *user)
{
	struct front *f = user;

	if (f->link.certs)
		certs_again(f->link.certs);
}

static void on_blocked(void *user, const struct msg_blocked *m)
{
	struct front *f = user;
	struct sandbox *sb = check_id(m->id) ? sandbox_table_find(f->sandbox.table, str_of(m->id)) : NULL;
	const char *proto = m->proto == IPPROTO_TCP ? "tcp" : "udp";
	char ip[INET_TEXT_SIZE], to[32], text[80];

	if (!sb || sandbox_is_warm(sb))
		return;
	audit_blocked(sb, m, proto);
	if (!may_note_refusal(sb))
		return;
	(void)snprintf(to, sizeof to, "%s:%u", inet_text(m->ip, ip), m->port);
	(void)snprintf(text, sizeof text, "connection to %s refused by policy", to);
	sandbox_note(sb, LOG_LVL_WARN, JOURNAL_SECURITY, text, "address=%s protocol=%s", to, proto);
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
	return audit_event(user, json, e);
}

static const struct agent_link_ops agent_ops = { .serve = &dispatch_ops, .on_event = on_agent_event };

static void on_webhooks(void *user, int fd)
{
	struct front *f = user;

	webhooks_link(f->record.webhooks, fd);
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

	sandbox_hurry_look(f);
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
	sandbox_hurry_done(f);
	warden_link_tick(f->link.warden);
	req_waiting_tick(f);
	rows_tick(f);
	req_end_slow(f);
	uploads_tick(f);
	agent_link_tick(f->link.agent);
	census_tick(f->account.census, clock_wall_ms());
	debug_tick(f->proxy.debug);
	memory_tick(f);
	quota_tick(&f->account);
	charge_tick(f);
	capacity_tick(f->account.capacity);
	audit_tick(f);
	volumes_tick(f);
	warm_pool_tick(f->sandbox.warm_pool);
	history_tick(f);
	if (f->link.ticks++ % TIDY_EVERY_S == 0)
		keyring_tidy(f->account.keyring, clock_wall_ms());
	give_memory_back(f);
	timer_arm(f->tick, 1000);
}

static int usage_error(const char *what)
{
	(void)fprintf(stderr, "atoll-front: %s (it is started by atolld)\n", what);
	return -EINVAL;
}

enum {
	OPT_EVENTS_KEPT = 256,
	OPT_WEBHOOK_TIMEOUT,
	OPT_WEBHOOK_ATTEMPTS,
	OPT_WEBHOOK_RETRY,
	OPT_WEBHOOK_PRIVATE,
	OPT_TOKEN,
	OPT_DOMAIN_DEFAULT,
	OPT_IMAGE_PACKAGES,
	OPT_ALERT
};

static uint32_t *number_option(int c, struct front_options *opt)
{
	if (c >= OPT_ALERT)
		return &opt->alert_percent[c - OPT_ALERT];
	switch (c) {
	case OPT_EVENTS_KEPT:
		return &opt->events_kept_s;
	case OPT_WEBHOOK_TIMEOUT:
		return &opt->webhook_timeout_s;
	case OPT_WEBHOOK_ATTEMPTS:
		return &opt->webhook_attempts;
	case OPT_WEBHOOK_RETRY:
		return &opt->webhook_retry_ms;
	case 't':
		return &opt->max_timeout_s;
	case 'h':
		return &opt->head_timeout_s;
	case 'b':
		return &opt->body_timeout_s;
	case 'L':
		return &opt->logs_kept_s;
	case 'G':
		return &opt->logs_max_mb;
	case 'r':
		return &opt->rate_limit;
	case 'q':
		return &opt->team_max_sandboxes;
	case 'M':
		return &opt->mem_total_mb;
	case 'p':
		return &opt->warm_pool_size;
	case 'c':
		return &opt->checkpoint_after_s;
	case 'C':
		return &opt->template_cache_mb;
	case 'U':
		return &opt->template_uploads_mb;
	case 'F':
		return &opt->template_upload_max_mb;
	case 'B':
		return &opt->build_timeout_s;
	case 'R':
		return &opt->ready_timeout_s;
	case 'H':
		return &opt->history_kept_s;
	case 'e':
		return &opt->paused_kept_s;
	case 'S':
		return &opt->snapshots_kept_s;
	case 'i':
		return &opt->max_lifetime_s;
	case 'v':
		return &opt->volume_mb;
	case 'V':
		return &opt->volume_max_mb;
	case 'n':
		return &opt->team_max_volumes;
	case 'A':
		return &opt->audit.kept_s;
	case 'g':
		return &opt->audit.max_mb;
	case 'K':
		return &opt->audit.segment_kb;
	case 'N':
		return &opt->notebooks.each_mb;
	case 'O':
		return &opt->notebooks.max_mb;
	case 'Q':
		return &opt->notebooks.kept_s;
	default:
		return &opt->warm_pool_max;
	}
}

static int take_number(int c, const char *text, struct front_options *opt)
{
	bool is_time = c == 't' || c == 'h' || c == 'b';
	uint64_t v;

	if (str_to_u64(str_of(text), UINT32_MAX, &v) < 0 || (is_time && v == 0))
		return usage_error("a number is malformed");
	*number_option(c, opt) = (uint32_t)v;
	return 0;
}

static int take_door(struct front *f, const char *kind)
{
	static const struct {
		const char *name;
		bool is_tls, is_plain_too;
		uint16_t debug_port;
	} kinds[] = {
		{ "http", false, true, 0 },
		{ "https", true, false, 0 },
		{ "both", true, true, 0 },
		{ "debug-envd", false, true, PORT_ENVD },
		{ "debug-interpreter", false, true, PORT_INTERPRETER },
	};

	for (size_t i = 0; i < ARRAY_LEN(kinds) && f->n_doors < DOORS_MAX; i++) {
		if (strcmp(kind, kinds[i].name) != 0)
			continue;
		f->doors[f->n_doors] = (struct door) { FD_DOORS + (int)f->n_doors, kinds[i].is_tls,
			kinds[i].is_plain_too, kinds[i].debug_port };
		f->n_doors++;
		return 0;
	}
	return usage_error(
	    "--door must be http, https, both, debug-envd or debug-interpreter, and not too many of them");
}

static const struct option longs[] = {
	{ "state", required_argument, NULL, 's' },
	{ "domain", required_argument, NULL, 'd' },
	{ "url", required_argument, NULL, 'u' },
	{ "max-timeout", required_argument, NULL, 't' },
	{ "key-file", required_argument, NULL, 'k' },
	{ "log-level", required_argument, NULL, 'l' },
	{ "rate-limit", required_argument, NULL, 'r' },
	{ "team-max-sandboxes", required_argument, NULL, 'q' },
	{ "head-timeout", required_argument, NULL, 'h' },
	{ "body-timeout", required_argument, NULL, 'b' },
	{ "logs-kept", required_argument, NULL, 'L' },
	{ "logs-max-mb", required_argument, NULL, 'G' },
	{ "mem-total-mb", required_argument, NULL, 'M' },
	{ "checkpoint-after", required_argument, NULL, 'c' },
	{ "history-kept", required_argument, NULL, 'H' },
	{ "paused-kept", required_argument, NULL, 'e' },
	{ "snapshots-kept", required_argument, NULL, 'S' },
	{ "max-lifetime", required_argument, NULL, 'i' },
	{ "volume-mb", required_argument, NULL, 'v' },
	{ "volume-max-mb", required_argument, NULL, 'V' },
	{ "team-max-volumes", required_argument, NULL, 'n' },
	{ "warm-pool-size", required_argument, NULL, 'p' },
	{ "warm-pool-max", required_argument, NULL, 'P' },
	{ "template-cache-mb", required_argument, NULL, 'C' },
	{ "template-uploads-mb", required_argument, NULL, 'U' },
	{ "template-upload-max-mb", required_argument, NULL, 'F' },
	{ "build-timeout", required_argument, NULL, 'B' },
	{ "ready-timeout", required_argument, NULL, 'R' },
	{ "image-map", required_argument, NULL, 'I' },
	{ "door", required_argument, NULL, 'D' },
	{ "prices", required_argument, NULL, '$' },
	{ "audit", required_argument, NULL, 'a' },
	{ "audit-full", no_argument, NULL, 'f' },
	{ "audit-kept", required_argument, NULL, 'A' },
	{ "audit-max-mb", required_argument, NULL, 'g' },
	{ "audit-segment-kb", required_argument, NULL, 'K' },
	{ "notebook-mb", required_argument, NULL, 'N' },
	{ "notebooks-max-mb", required_argument, NULL, 'O' },
	{ "notebooks-kept", required_argument, NULL, 'Q' },
	{ "events-kept", required_argument, NULL, OPT_EVENTS_KEPT },
	{ "webhook-timeout", required_argument, NULL, OPT_WEBHOOK_TIMEOUT },
	{ "webhook-attempts", required_argument, NULL, OPT_WEBHOOK_ATTEMPTS },
	{ "webhook-retry-ms", required_argument, NULL, OPT_WEBHOOK_RETRY },
	{ "alert-memory", required_argument, NULL, OPT_ALERT + ALERT_MEMORY },
	{ "alert-cpu", required_argument, NULL, OPT_ALERT + ALERT_CPU },
	{ "alert-disk", required_argument, NULL, OPT_ALERT + ALERT_DISK },
	{ "alert-processes", required_argument, NULL, OPT_ALERT + ALERT_PROCESSES },
	{ "alert-egress", required_argument, NULL, OPT_ALERT + ALERT_EGRESS },
	{ "webhook-allow-private", no_argument, NULL, OPT_WEBHOOK_PRIVATE },
	{ "image-packages", required_argument, NULL, OPT_IMAGE_PACKAGES },
	{ "domain-default", no_argument, NULL, OPT_DOMAIN_DEFAULT },
	{ "open", no_argument, NULL, 'o' },
	{ "metrics-open", no_argument, NULL, 'm' },
	{ "text-from-stdout", no_argument, NULL, 'x' },
	{ "interpreter-token", required_argument, NULL, OPT_TOKEN },
	{ 0 },
};

static int parse_options(int argc, char **argv, struct front *f)
{
	struct front_options *opt = &f->link.opt;
	enum log_level level;
	int c;

	while ((c = getopt_long(argc, argv, "", longs, NULL)) != -1) {
		switch (c) {
		case 's':
			opt->state_dir = optarg;
			break;
		case 'd':
			opt->domain = strcmp(optarg, "localhost") == 0 ? "" : optarg;
			break;
		case 'u':
			opt->url = optarg;
			break;
		case 'I':
			opt->image_map = optarg;
			break;
		case 'k':
			opt->key_file = optarg;
			break;
		case OPT_IMAGE_PACKAGES:
			opt->image_packages = optarg;
			break;
		case OPT_DOMAIN_DEFAULT:
			opt->domain_is_default = true;
			break;
		case OPT_WEBHOOK_PRIVATE:
			opt->webhook_allow_private = true;
			break;
		case 'D':
			if (take_door(f, optarg) < 0)
				return -EINVAL;
			break;
		case '$':
			if (prices_parse(str_of(optarg), &opt->prices) < 0)
				return usage_error("--prices is malformed");
			break;
		case 'a':
			opt->audit.on = strcmp(optarg, "off") != 0;
			opt->audit.required = strcmp(optarg, "required") == 0;
			break;
		case 'f':
			opt->audit.full = true;
			break;
		case 'o':
			opt->open = true;
			break;
		case 'm':
			opt->metrics_open = true;
			break;
		case 'x':
			opt->text_from_stdout = true;
			break;
		case OPT_TOKEN:
			if (interp_token_parse(optarg, &opt->interpreter_token) < 0)
				return usage_error("--interpreter-token must be execute, all or none");
			break;
		case 'l':
			if (log_level_parse(optarg, &level) < 0)
				return usage_error("--log-level must be debug, info, warn or error");
			log_set_level(level);
			break;
		case '?':
			return usage_error("unknown option");
		default:
			if (take_number(c, optarg, opt) < 0)
				return -EINVAL;
		}
	}
	if (optind != argc || !opt->state_dir || !opt->key_file || f->n_doors == 0)
		return usage_error("--state, --key-file and --door are needed");
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
	    vault_open(f->link.opt.state_dir, &f->link.vault, e) < 0 || audit_new(f, f->link.opt.state_dir, e) < 0 ||
	    notebooks_new(f, f->link.opt.state_dir, e) < 0 || sandbox_hurry_open(f, e) < 0 ||
	    keyring_open(f->link.store, f->link.opt.key_file, &f->account.keyring, e) < 0 ||
	    keyring_add_sdk_key(f->account.keyring, sdk_key, e) < 0 || quota_open(&f->account, e) < 0)
		return -e->no;
	return 0;
}

static int set_up(struct front *f, struct err *e)
{
	bool have = fd_cloexec(FD_WARDEN, true) == 0;

	for (size_t i = 0; i < f->n_doors; i++)
		have = have && fd_cloexec(f->doors[i].fd, true) == 0 && fd_nonblock(f->doors[i].fd, true) == 0;
	if (!have)
		return err_set(e, EBADF, "the warden's fds are missing");
	if (confine_early(&f->link.fds, e) < 0 || open_state(f, e) < 0)
		return -e->no;
	f->sandbox.table = sandbox_table_new();
	f->sandbox.rules = rules_link_new(f);
	f->link.agent = agent_link_new(&f->link, &agent_ops, f);
	f->record.webhooks = webhooks_new(f);
	f->account.capacity = capacity_new(&f->account, charge_look, f);
	f->account.penalties = penalties_new();
	f->account.metrics = metrics_new();
	f->account.census = census_new(f->link.store, clock_wall_ms());
	LIST_INIT(&f->sandbox.departed);
	TAILQ_INIT(&f->build.list);
	TAILQ_INIT(&f->api.reading);
	TAILQ_INIT(&f->sandbox.watches);
	LIST_INIT(&f->api.held);
	LIST_INIT(&f->api.takings);
	f->link.loop = loop_new();
	if (!f->link.loop)
		return err_set(e, ENOMEM, "make the loop");
	loop_leaving_max(f->link.loop, links_max_leaving(&f->link));
	carrier_limit(links_max_pipes(&f->link));
	f->record.logbook = logbook_new(f);
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

int main(int argc, char **argv)
{
	struct front f = { .sandbox.memory = { .meminfo_fd = -1 },
		.link.opt = { .domain = "",
		    .url = "",
		    .max_timeout_s = MAX_TIMEOUT_S,
		    .head_timeout_s = HEAD_TIMEOUT_S,
		    .body_timeout_s = BODY_TIMEOUT_S,
		    .logs_kept_s = LOGS_KEPT_S,
		    .logs_max_mb = LOGS_MAX_MB,
		    .history_kept_s = HISTORY_KEPT_S,
		    .events_kept_s = HISTORY_KEPT_S,
		    .webhook_timeout_s = 10,
		    .webhook_attempts = 8,
		    .webhook_retry_ms = 1000,
		    .volume_mb = VOLUME_MB,
		    .volume_max_mb = VOLUME_MB,
		    .team_max_volumes = TEAM_MAX_VOLUMES } };
	struct err e;

	log_setup("atoll-front", LOG_LVL_INFO);
	front_connect(&f);
	if (parse_options(argc, argv, &f) < 0)
		return 2;
	if (set_up(&f, &e) < 0) {
		log_error("cannot start", "err=%s", e.text);
		return e.no == EPROTO ? EXIT_NO_USE
		    : e.no == EUCLEAN ? EXIT_DAMAGED
		    : e.no == EROFS   ? EXIT_READ_ONLY
				      : 1;
	}
	boot_begin(&f);
	loop_run(f.link.loop);
	front_done(&f);
	if (f.lost)
		/* without freeing: requests to the warden never get a reply, and a leak checker would report them */
		_exit(f.exit_code);
	return f.exit_code;
}
