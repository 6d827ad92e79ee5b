/* SPDX-License-Identifier: Apache-2.0 */
/* front/boot: hello, lists, reconcile, confine, serve. */
#include "front/boot.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/boot_id.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "front/api/dispatch.h"
#include "front/confine.h"
#include "front/front.h"
#include "front/link/certs.h"
#include "front/link/dial_tls.h"
#include "front/link/saved.h"
#include "front/link/start_queue.h"
#include "front/link/warden_link.h"
#include "front/proxy/debug.h"
#include "front/proxy/lane_serve.h"
#include "front/proxy/lanes.h"
#include "front/record/audit.h"
#include "front/record/audit_acts.h"
#include "front/record/events.h"
#include "front/record/history.h"
#include "front/record/logbook.h"
#include "front/record/notebook.h"
#include "front/sandbox/life.h"
#include "front/sandbox/row.h"
#include "front/sandbox/rules.h"
#include "front/sandbox/sandbox.h"
#include "front/sandbox/snapshots.h"
#include "front/sandbox/table.h"
#include "front/sandbox/upkeep.h"
#include "front/sandbox/volumes.h"
#include "front/sandbox/warm_pool.h"
#include "front/template/build.h"
#include "front/template/image_gc.h"
#include "front/util/mem.h"
#include "front/util/memory.h"
#include "http/h2.h"
#include "http/server.h"
#include "ipc/check.h"
#include "loop/loop.h"
#include "store/host.h"
#include "store/sandboxes.h"

struct boot {
	struct front *f;
	struct msg_sandbox *have; /* sandboxes that the warden has */
	bool *known;              /* which of them are in the store */
	size_t n;
	struct msg_kept *kept; /* saved states that the warden has */
	bool *owned;           /* which of them are referenced in the store */
	size_t n_kept;
	struct lost {
		char id[ID_SIZE], team[TEAM_ID_SIZE];
		const char *why;
		bool started;
	} *lost; /* sandboxes in the store that have ended, or whose start did not finish */
	size_t n_lost;
	char host[BOOT_ID_SIZE];     /* boot id of the host, "": not known */
	char host_was[BOOT_ID_SIZE]; /* boot id that the previous front recorded, "": none */
};

static void boot_fail(struct front *f, const char *what, const char *why)
{
	log_error("cannot start, exiting", "step='%s' err=%s", what, why);
	f->exit_code = 1;
	loop_stop(f->link.loop);
}

/* Damage that the opening of the database does not see. */
static void boot_refuse(struct front *f, const struct err *e)
{
	boot_fail(f, "compare with the store", e->text);
	f->exit_code = e->no == EUCLEAN ? EXIT_DAMAGED_INSIDE : front_exit_code(e);
}

void boot_free(struct boot *b)
{
	if (!b)
		return;
	free(b->have);
	free(b->known);
	free(b->kept);
	free(b->owned);
	free(b->lost);
	free(b);
}

static void ignore_reply(void *user, const struct warden_reply *re)
{
	(void)user;
	(void)re;
}

/* Wall clock time of the host's boot. */
static uint64_t host_began_ms(void)
{
	struct timespec up;

	(void)clock_gettime(CLOCK_BOOTTIME, &up);
	return clock_wall_ms() - ((uint64_t)up.tv_sec * 1000 + (uint64_t)up.tv_nsec / 1000000);
}

static void look_at_host(struct boot *b)
{
	struct err e;

	if (boot_id_read(b->host, &e) < 0 || host_boot_id(b->f->link.store, b->host_was, &e) < 0) {
		log_warn("cannot determine whether the host was rebooted", "err=%s", e.text);
		b->host_was[0] = '\0';
	}
}

/* Whether the host was rebooted since the sandbox was started. A state file from before boot ids has only the wall
 * clock time, which may have been set since. */
static bool is_of_earlier_start(const struct boot *b, const struct sandbox_row *row)
{
	if (b->host[0] && b->host_was[0])
		return strcmp(b->host, b->host_was) != 0;
	return row->started_us / 1000 < host_began_ms();
}

static void note_lost(struct boot *b, const struct sandbox_row *row)
{
	b->lost = must_grow(b->lost, (b->n_lost + 1) * sizeof *b->lost);
	struct lost *l = &b->lost[b->n_lost++];

	bool restarted = is_of_earlier_start(b, row);

	(void)str_copy(l->id, sizeof l->id, str_of(row->id));
	(void)str_copy(l->team, sizeof l->team, str_of(row->team));
	l->started = row->state != ROW_STARTING;
	if (l->started)
		event_note_lost(&b->f->record, row, restarted);
	l->why = !l->started           ? "start failed"
	    : restarted                ? "the host was restarted"
	    : row->state == ROW_PAUSED ? "nothing was left of it"
				       : "ended while the server was down";
}

/* The last line of its log says why it has ended. */
static void log_lost(struct front *f, const struct lost *l)
{
	const struct journal_entry en = {
		.at_ms = clock_wall_ms(),
		.level = LOG_LVL_ERROR,
		.kind = JOURNAL_LIFECYCLE,
		.message = str_of("sandbox ended"),
		.fields = { { str_of("reason"), str_of(l->why) } },
		.n_fields = 1,
	};
	struct log_tail *t = logbook_open(f->record.logbook, l->id, l->team, false);

	logbook_add(t, &en);
	logbook_end(t, en.at_ms);
}

static size_t find_have(const struct boot *b, const char *id)
{
	size_t i = 0;

	while (i < b->n && strcmp(b->have[i].id, id) != 0)
		i++;
	return i;
}

/* Reduces the saved state in *row to what the warden has. */
static void look_kept(struct boot *b, struct sandbox_row *row, bool frozen)
{
	size_t i = 0;

	while (i < b->n_kept && !(row->kept_name && strcmp(b->kept[i].name, row->kept_name) == 0))
		i++;
	bool there = frozen && i < b->n_kept && b->kept[i].disk;

	if (there)
		b->owned[i] = true;
	row->kept &= ~SAVED_MEMORY;
	row->kept |= there && b->kept[i].memory ? SAVED_MEMORY : 0;
	if (!there) {
		row->kept_name = NULL;
		row->kept = 0;
	}
}

static int on_row(void *user, const struct sandbox_row *given)
{
	struct boot *b = user;
	struct sandbox_row row = *given;
	size_t i = find_have(b, row.id);
	bool live = i < b->n, frozen = live ? b->have[i].frozen : row.state == ROW_PAUSED;

	look_kept(b, &row, frozen);
	if ((!live && !row.kept) || row.state == ROW_STARTING || !sandbox_restore(&b->f->sandbox, &row, live, frozen)) {
		note_lost(b, given); /* later: the rows are still being read */
		return 0;
	}
	if (live)
		b->known[i] = true;
	return 0;
}

/* Whether a snapshot's saved state exists; marks it as owned. */
static bool is_saved(void *user, const char *name, bool *ret_memory)
{
	struct boot *b = user;

	for (size_t i = 0; i < b->n_kept; i++) {
		if (strcmp(b->kept[i].name, name) != 0)
			continue;
		b->owned[i] = true;
		*ret_memory = b->kept[i].memory;
		return b->kept[i].disk;
	}
	return false;
}

static bool has_sandbox(void *user, const char *id)
{
	return sandbox_table_find(user, str_of(id)) != NULL;
}

static int reconcile(struct boot *b, struct err *e)
{
	struct front *f = b->f;

	b->known = must_alloc((b->n + 1) * sizeof *b->known);
	b->owned = must_alloc((b->n_kept + 1) * sizeof *b->owned);
	look_at_host(b);
	if (sandboxes_each(f->link.store, on_row, b, e) < 0)
		return -e->no;
	for (size_t i = 0; i < b->n_lost; i++) {
		log_info("sandbox exited while the front was down", "id=%s why='%s'", b->lost[i].id, b->lost[i].why);
		audit_lost(&f->record, b->lost[i].id, b->lost[i].team, b->lost[i].why);
		if (b->lost[i].started) /* else no client knows its id */
			log_lost(f, &b->lost[i]);
		row_end_id(&f->sandbox, b->lost[i].id, b->lost[i].why);
	}
	if (strcmp(b->host, b->host_was) != 0)
		rows_are_of(&f->sandbox, b->host); /* all ends of an earlier boot are recorded by now */
	for (size_t i = 0; i < b->n; i++) {
		if (b->known[i])
			continue;
		/* Usually a member of the warm pool, or one whose creation was interrupted by a crash. */
		log_info("killing a sandbox that no team owns", "id=%s", b->have[i].id);
		(void)warden_ask_id(f->link.warden, OP_KILL, b->have[i].id, "", ignore_reply, NULL);
	}
	if (volumes_load(&f->sandbox, e) < 0 || snapshots_load(&f->sandbox, is_saved, b, e) < 0 ||
	    builds_load(&f->build, is_saved, b, e) < 0)
		return -e->no;
	for (size_t i = 0; i < b->n_kept; i++) {
		if (b->owned[i])
			continue;
		log_info("removing a saved state that no row refers to", "name=%s", b->kept[i].name);
		saved_delete(&f->link, b->kept[i].name);
	}
	image_gc_begin(&f->build);
	logbook_end_lost(f->record.logbook);
	notebook_end_lost(&f->record, has_sandbox, f->sandbox.table);
	retention_prune(&f->sandbox);
	history_prune(&f->record);
	return 0;
}

/* Threads start before the filter of system calls, which allows no more of them; each confines itself. */
static int start_lanes(struct front *f, struct err *e)
{
	unsigned n = f->link.opt.front_threads - 1;

	return n ? lanes_new(&f->proxy, n, &lane_serve_ops, confine_late, &f->proxy.lanes, e) : 0;
}

static int listen_on(struct front *f, struct door *d)
{
	struct http_secure *secure = d->is_tls ? certs_secure(f->link.certs) : NULL;
	int fd = take_fd(&d->fd);

	if (!f->proxy.lanes)
		return (d->is_plain_too ? http_server_listen_both : http_server_listen)(f->api.server, fd, secure);

	int r = lanes_listen(f->proxy.lanes, fd, secure, d->is_plain_too);

	fd_close(fd);
	return r;
}

static int open_doors(struct front *f)
{
	int r = 0;

	f->api.server = http_server_new(f->link.loop, -1, &dispatch_ops, &f->api);
	if (!f->api.server)
		return -ENOMEM;
	http_server_h2(f->api.server);
	lanes_serve(f->proxy.lanes, f->api.server);
	for (size_t i = 0; r == 0 && i < f->n_doors; i++) {
		struct door *d = &f->doors[i];

		if (d->debug_port)
			r = debug_listen(&f->proxy, d->debug_port, take_fd(&d->fd));
		else
			r = listen_on(f, d);
	}
	return r;
}

static void serve(void *user)
{
	struct front *f = user;
	struct msg_list serves = { 0 };
	struct err e;

	if (start_lanes(f, &e) < 0) {
		boot_fail(f, "start threads", e.text);
		return;
	}
	if (confine_late(&e) < 0) {
		boot_fail(f, "confine", e.text);
		return;
	}
	if (open_doors(f) < 0) {
		boot_fail(f, "listen", "out of memory");
		return;
	}
	http_server_limit(f->api.server, lanes_max_conns(f->proxy.lanes, front_max_conns(f)));
	http_server_head_timeout(f->api.server, f->link.opt.head_timeout_s * 1000ull);
	timer_arm(f->tick, 1000);
	if (f->sandbox.warm_pool)
		warm_pool_begin(f->sandbox.warm_pool);
	(void)warden_ask(f->link.warden, OP_SERVES, &serves, sizeof serves, ignore_reply, NULL);
	log_info("serving", "url=%s sandboxes=%zu", f->link.opt.url, sandbox_table_count(f->sandbox.table));
}

static void on_list(void *user, const struct warden_reply *re)
{
	struct front *f = user;
	struct boot *b = f->boot;
	struct err e;

	if (re->no) {
		boot_fail(f, "list", re->text);
		return;
	}
	if (re->more) {
		const struct msg_sandbox *m = (const struct msg_sandbox *)re->msg;

		if (!check_id(m->id))
			return;
		b->have = must_grow(b->have, (b->n + 1) * sizeof *b->have);
		b->have[b->n++] = *m;
		return;
	}
	if (reconcile(b, &e) < 0) {
		boot_refuse(f, &e);
		return;
	}
	f->boot = NULL;
	boot_free(b);
	rules_push_all(&f->sandbox);
	if (f->link.certs)
		certs_begin(f->link.certs, serve, f);
	else
		serve(f);
}

static void on_kept(void *user, const struct warden_reply *re)
{
	struct front *f = user;
	struct boot *b = f->boot;
	struct msg_list list = { 0 };

	if (re->no) {
		boot_fail(f, "list what is kept", re->text);
		return;
	}
	if (re->more) {
		const struct msg_kept *m = (const struct msg_kept *)re->msg;

		if (!check_id(m->name))
			return;
		b->kept = must_grow(b->kept, (b->n_kept + 1) * sizeof *b->kept);
		b->kept[b->n_kept++] = *m;
		return;
	}
	(void)warden_ask(f->link.warden, OP_LIST, &list, sizeof list, on_list, f);
}

static bool wants_tls(const struct front *f)
{
	for (size_t i = 0; i < f->n_doors; i++) {
		if (f->doors[i].is_tls)
			return true;
	}
	return false;
}

static void on_audit(void *user, const struct err *e)
{
	struct front *f = user;
	struct msg_list list = { 0 };

	if (e)
		boot_fail(f, "open the audit trail, which audit = required wants", e->text);
	else
		(void)warden_ask(f->link.warden, OP_KEPT, &list, sizeof list, on_kept, f);
}

static void on_hello(void *user, const struct warden_reply *re)
{
	struct front *f = user;
	const struct msg_welcome *m = (const struct msg_welcome *)re->msg;
	struct err e;

	if (re->no || m->head.type != RE_HELLO) {
		boot_fail(f, "hello", re->no ? re->text : "unexpected answer");
		return;
	}
	if (templates_init(&f->sandbox.templates, m->templates, m->n_templates, &e) < 0) {
		boot_fail(f, "hello", e.text);
		return;
	}
	if (dial_tls_prepare(&e) < 0) {
		boot_fail(f, "hello", e.text);
		return;
	}
	if (wants_tls(f)) {
		f->link.certs = certs_new(&f->link, m->ticket_secret);
		if (!f->link.certs) {
			boot_fail(f, "set TLS up", "out of memory");
			return;
		}
	}
	f->account.defaults = m->defaults;
	f->account.maxima = m->maxima;
	f->account.n_template_limits = m->n_template_limits < TEMPLATES_MAX ? m->n_template_limits : TEMPLATES_MAX;
	memcpy(f->account.template_limits, m->template_limits, sizeof f->account.template_limits);
	f->sandbox.can_checkpoint = m->can_checkpoint;
	if (!f->sandbox.can_checkpoint)
		log_info("the memory of paused sandboxes is not saved to disk", "why='%s'",
		    check_text(m->why_not, sizeof m->why_not) ? m->why_not : "");
	for (size_t i = 0; i < ENGINE_KINDS; i++)
		(void)str_copy(f->sandbox.engine_why[i], sizeof f->sandbox.engine_why[i],
		    check_text(m->engine_why[i], sizeof m->engine_why[i]) ? str_of(m->engine_why[i]) : STR_LIT("?"));
	f->sandbox.max_sandboxes = m->max_sandboxes;
	f->link.starts = start_queue_new(f->link.loop, m->builders);
	if (!f->link.starts) {
		boot_fail(f, "make the queue of starts", "out of memory");
		return;
	}
	if (m->log_level <= LOG_LVL_ERROR)
		log_set_level((enum log_level)m->log_level);
	memory_open(&f->sandbox.memory);
	f->sandbox.warm_pool = f->link.opt.warm_pool_size ? warm_pool_new(&f->sandbox) : NULL;
	if (f->link.opt.warm_pool_size && !f->sandbox.warm_pool) {
		boot_fail(f, "make the pool", "out of memory");
		return;
	}
	audit_begin(&f->record, on_audit, f); /* first, so that what follows is recorded */
}

void boot_begin(struct front *f)
{
	struct msg_hello hello = { 0 };

	f->boot = must_alloc(sizeof *f->boot);
	f->boot->f = f;
	(void)warden_ask(f->link.warden, OP_HELLO, &hello, sizeof hello, on_hello, f);
}

void boot_exited(struct front *f, const struct msg_exited *m)
{
	size_t i = find_have(f->boot, m->id);

	if (i < f->boot->n)
		f->boot->have[i] = f->boot->have[--f->boot->n];
}
