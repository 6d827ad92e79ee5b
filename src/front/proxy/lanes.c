/* SPDX-License-Identifier: Apache-2.0 */
/* front/proxy/lanes: which lane has which sandbox, and the messages that the main thread gets. */
#include "front/proxy/lanes.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/log.h"
#include "front/link/box.h"
#include "front/link/warden_link.h"
#include "front/proxy/lane_impl.h"
#include "front/record/audit.h"
#include "front/record/facts.h"
#include "front/record/notebook.h"
#include "front/sandbox/init_watch.h"
#include "front/sandbox/sandbox.h"
#include "front/sandbox/table.h"
#include "front/util/mem.h"
#include "http/server.h"
#include "store/notebooks.h"

static struct lane *lane_of(struct lanes *ls, const struct sandbox *sb)
{
	uint32_t h = 2166136261u; /* FNV-1a, as in front/sandbox/table.c */

	for (const char *p = sb->id; *p; p++)
		h = (h ^ (unsigned char)*p) * 16777619u;
	return &ls->lanes[(h >> 16) % ls->n];
}

/* The lane knows the sandbox from its next message on. */
static void grant(struct lanes *ls, struct sandbox *sb)
{
	struct replica_facts f;

	replica_facts_of(sb, &f);
	lane_grant(lane_of(ls, sb), &f);
}

static void on_stopped(void *user, struct sandbox *sb)
{
	struct lanes *ls = user;

	lane_revoke(lane_of(ls, sb), sb->id);
	sb->active_ms = sandbox_active_ms(sb);
	sandbox_use_unref(take_ptr(&sb->use));
}

bool lanes_take(struct lanes *ls, struct sandbox *sb, struct http_req *rq)
{
	if (sb->state != SANDBOX_RUNNING || !http_may_leave(rq))
		return false;
	if (sb->use)
		return http_hand_over(rq, lane_of(ls, sb));
	grant(ls, sb);
	return false;
}

/* A connection on its way is counted by no server. False: it is closed, because the other threads are behind. */
static bool may_leave(struct lanes *ls, struct http_handed *h)
{
	if (atomic_fetch_add(&ls->handed, 1) < links_max_handed(ls->proxies->link))
		return true;
	ls->handed--;
	if (!atomic_exchange(&ls->crowded, true))
		log_warn("too many connections for other threads, closing some", "limit=%u",
		    links_max_handed(ls->proxies->link));
	http_handed_drop(h);
	return false;
}

void lanes_arrived(struct lanes *ls)
{
	if (atomic_fetch_sub(&ls->handed, 1) == 1)
		ls->crowded = false;
}

static void on_handed(void *user, struct http_handed *h, void *to)
{
	if (may_leave(user, h))
		lane_hand(to, h);
}

/* --- messages ------------------------------------------------------------------------------------------------- */

/* A request moves from the lane that has accepted it to the main thread, from there to the lane of the sandbox, and if
 * that is the wrong moment, back: then it stays. */
#define MOVES_MAX 2
#define BEHIND_BYTES (16 * 1024 * 1024) /* of messages to the main thread, see lanes_behind() */

/* A message to the main thread; its texts follow the struct, each with a NUL. */
struct note_mail {
	struct mail mail;
	struct lanes *lanes;
	size_t size;
	char id[ID_SIZE], team[TEAM_ID_SIZE];
	enum log_level level;
	enum journal_kind kind;
	uint64_t seq;
	struct http_handed handed;
	struct cell_row cell;
	struct lane *lane;
	struct lane_ask *ask;
	struct str text, more;
	char texts[];
};

static struct note_mail *note_new(struct lanes *ls, void (*deliver)(struct mail *m), const struct str *texts, size_t n,
    struct str *ret)
{
	size_t size = 0;
	struct note_mail *m;

	for (size_t i = 0; i < n; i++)
		size += texts[i].n + 1;
	m = must_alloc(sizeof *m + size);
	m->mail.deliver = deliver;
	m->lanes = ls;
	m->size = sizeof *m + size;

	char *at = m->texts;

	for (size_t i = 0; i < n; i++) {
		if (texts[i].n)
			memcpy(at, texts[i].p, texts[i].n);
		ret[i] = (struct str) { at, texts[i].n };
		at += texts[i].n + 1; /* must_alloc() has zeroed it */
	}
	return m;
}

static void set_of(struct note_mail *m, const char *id, const char *team)
{
	(void)str_copy(m->id, sizeof m->id, str_of(id));
	(void)str_copy(m->team, sizeof m->team, str_of(team));
}

static void post(struct note_mail *m)
{
	mailbox_post(m->lanes->inbox, &m->mail);
}

static void post_note(struct note_mail *m)
{
	m->lanes->notes_bytes += m->size;
	mailbox_post(m->lanes->notes, &m->mail);
}

static void note_free(struct note_mail *m)
{
	m->lanes->notes_bytes -= m->size;
	free(m);
}

bool lanes_behind(const struct lanes *ls)
{
	return ls->notes_bytes > BEHIND_BYTES;
}

void lanes_catch_up(struct lanes *ls)
{
	if (ls)
		mailbox_empty(ls->notes);
}

static struct note_mail *note_of(struct mail *mail)
{
	return container_of(mail, struct note_mail, mail);
}

static struct sandbox *sandbox_of(const struct note_mail *m)
{
	return sandbox_table_find(m->lanes->proxies->sandbox->table, str_of(m->id));
}

static struct sandbox_facts facts_of(const struct note_mail *m)
{
	return (struct sandbox_facts) { .id = m->id, .team = m->team, .key = "", .request = "" };
}

static void deliver_note(struct mail *mail)
{
	struct note_mail *m = note_of(mail);
	struct sandbox *sb = sandbox_of(m);

	if (sb)
		sandbox_note_text(sb, m->level, m->kind, m->text.p, m->more.p);
	note_free(m);
}

static void send_note(void *user, const struct sandbox *sb, enum log_level level, enum journal_kind kind,
    const char *message, const char *pairs)
{
	struct str got[2];
	struct note_mail *m = note_new(user, deliver_note, (struct str[]) { str_of(message), str_of(pairs) }, 2, got);

	set_of(m, sb->id, "");
	m->level = level;
	m->kind = kind;
	m->text = got[0];
	m->more = got[1];
	post_note(m);
}

static void deliver_use(struct mail *mail)
{
	struct note_mail *m = note_of(mail);
	struct sandbox *sb = sandbox_of(m);

	if (sb)
		init_watch_use(sb);
	note_free(m);
}

static void send_use(void *user, const struct sandbox *sb)
{
	struct note_mail *m = note_new(user, deliver_use, NULL, 0, NULL);

	set_of(m, sb->id, "");
	post_note(m);
}

const struct sandbox_away_ops lanes_sandbox_ops = { .note = send_note, .use = send_use };

static void deliver_look(struct mail *mail)
{
	struct note_mail *m = note_of(mail);

	audit_look(m->lanes->proxies->record);
	note_free(m);
}

static void send_look(void *user)
{
	post_note(note_new(user, deliver_look, NULL, 0, NULL));
}

static void deliver_text(struct mail *mail)
{
	struct note_mail *m = note_of(mail);

	audit_text(m->lanes->proxies->record, m->seq, m->team, m->text);
	note_free(m);
}

static void send_text(void *user, uint64_t seq, const char *team, struct str text)
{
	struct str got;
	struct note_mail *m = note_new(user, deliver_text, &text, 1, &got);

	set_of(m, "", team);
	m->seq = seq;
	m->text = got;
	post_note(m);
}

static void deliver_cell(struct mail *mail)
{
	struct note_mail *m = note_of(mail);
	const struct sandbox_facts of = facts_of(m);

	notebook_add(m->lanes->proxies->record, &of, &m->cell);
	note_free(m);
}

static void send_cell(void *user, const struct sandbox_facts *sb, const struct cell_row *c)
{
	struct str got[5];
	const struct str texts[5] = { str_of(c->context), str_of(c->language), str_of(c->outcome), c->code, c->output };
	struct note_mail *m = note_new(user, deliver_cell, texts, 5, got);

	set_of(m, sb->id, sb->team);
	m->cell = *c;
	m->cell.context = got[0].p;
	m->cell.language = got[1].p;
	m->cell.outcome = got[2].p;
	m->cell.code = got[3];
	m->cell.output = got[4];
	post_note(m);
}

static void deliver_missed(struct mail *mail)
{
	struct note_mail *m = note_of(mail);
	const struct sandbox_facts of = facts_of(m);

	notebook_missed(m->lanes->proxies->record, &of);
	note_free(m);
}

static void send_missed(void *user, const struct sandbox_facts *sb)
{
	struct note_mail *m = note_new(user, deliver_missed, NULL, 0, NULL);

	set_of(m, sb->id, sb->team);
	post_note(m);
}

static void deliver_context(struct mail *mail)
{
	struct note_mail *m = note_of(mail);
	const struct sandbox_facts of = facts_of(m);

	notebook_context(m->lanes->proxies->record, &of, m->text);
	note_free(m);
}

static void send_context(void *user, const struct sandbox_facts *sb, struct str answer)
{
	struct str got;
	struct note_mail *m = note_new(user, deliver_context, &answer, 1, &got);

	set_of(m, sb->id, sb->team);
	m->text = got;
	post_note(m);
}

const struct record_away_ops lanes_record_ops = {
	.audit_look = send_look,
	.audit_text = send_text,
	.cell = send_cell,
	.cell_missed = send_missed,
	.context = send_context,
};

static void deliver_quiet(struct mail *mail)
{
	struct note_mail *m = note_of(mail);
	const struct links *l = m->lanes->proxies->link;

	if (l->on_quiet && l->requests == 0)
		l->on_quiet(l->quiet_user);
	free(m);
}

void lanes_quiet(struct lanes *ls)
{
	post(note_new(ls, deliver_quiet, NULL, 0, NULL));
}

static void deliver_hand(struct mail *mail)
{
	struct note_mail *m = note_of(mail);

	lanes_arrived(m->lanes);
	if (m->lanes->server)
		(void)http_server_take(m->lanes->server, &m->handed);
	else
		http_handed_drop(&m->handed);
	free(m);
}

void lanes_hand(struct lanes *ls, struct http_handed *h)
{
	struct note_mail *m;

	if (!may_leave(ls, h))
		return;
	m = note_new(ls, deliver_hand, NULL, 0, NULL);
	m->handed = *h;
	post(m);
}

/* --- connections to init -------------------------------------------------------------------------------------- */

static void on_connected(void *user, const struct warden_reply *re)
{
	struct note_mail *m = user;

	lane_connected(m->lane, m->ask, re);
	free(m);
}

static void deliver_ask(struct mail *mail)
{
	struct note_mail *m = note_of(mail);
	const struct sandbox *sb = sandbox_of(m);
	int no = !sb || sb->state != SANDBOX_RUNNING         ? ENOTCONN
	    : warden_silent(m->lanes->proxies->link->warden) ? EHOSTDOWN
							     : 0;

	if (no)
		on_connected(m, &(struct warden_reply) { .no = no, .text = "not running", .fd = -1 });
	else
		(void)box_connect(&sb->box, m->text.p, on_connected, m);
}

void lanes_ask(struct lane *la, struct lane_ask *a, const char *id, const char *request)
{
	struct str got, given = str_of(request);
	struct note_mail *m = note_new(la->all, deliver_ask, &given, 1, &got);

	set_of(m, id, "");
	m->lane = la;
	m->ask = a;
	m->text = got;
	post(m);
}

/* --- start and end -------------------------------------------------------------------------------------------- */

int lanes_new(struct proxies *p, unsigned n, const struct http_server_ops *serve, int (*confine)(struct err *e),
    struct lanes **ret, struct err *e)
{
	struct lanes *ls = must_alloc(sizeof *ls + n * sizeof *ls->lanes);

	*ret = ls;
	ls->proxies = p;
	ls->serve = serve;
	ls->confine = confine;
	ls->inbox = mailbox_new(p->link->loop);
	ls->notes = mailbox_new(p->link->loop);
	if (!ls->inbox || !ls->notes || sem_init(&ls->done, 0, 0) < 0)
		return err_set(e, ENOMEM, "prepare the threads");
	for (ls->n = 0; ls->n < n; ls->n++) {
		ls->lanes[ls->n].all = ls;
	}
	for (unsigned i = 0; i < n; i++) {
		if (lane_init(&ls->lanes[i], ls) < 0)
			return err_set(e, ENOMEM, "prepare a thread");
	}
	for (unsigned i = 0; i < n; i++) {
		if (lane_start(&ls->lanes[i], e) < 0)
			return -e->no;
	}
	p->sandbox->on_stopped = on_stopped;
	p->sandbox->on_stopped_user = ls;
	return 0;
}

int lanes_listen(struct lanes *ls, int fd, struct http_secure *secure, bool both)
{
	for (unsigned i = 0; i < ls->n; i++) {
		int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);

		if (copy < 0)
			return -errno;
		lane_listen(&ls->lanes[i], copy, secure, both);
	}
	return 0;
}

void lanes_serve(struct lanes *ls, struct http_server *s)
{
	if (!ls)
		return;
	ls->server = s;
	http_server_hands(s, on_handed, ls, MOVES_MAX, false);
}

/* The lanes have three eighths of half of the descriptors (lane_init()), and requests and idle connections into
 * sandboxes of their own; so the main thread has fewer connections of clients. */
uint32_t lanes_max_conns(const struct lanes *ls, uint32_t max)
{
	return ls ? max / 8 * 3 : max;
}

uint32_t lanes_requests(const struct lanes *ls)
{
	uint32_t sum = 0;

	for (unsigned i = 0; ls && i < ls->n; i++)
		sum += ls->lanes[i].link.requests;
	return sum;
}

size_t lanes_conns(const struct lanes *ls)
{
	size_t sum = 0;

	for (unsigned i = 0; ls && i < ls->n; i++)
		sum += ls->lanes[i].conns;
	return sum;
}

uint64_t lanes_evicted(const struct lanes *ls)
{
	uint64_t sum = 0;

	for (unsigned i = 0; ls && i < ls->n; i++)
		sum += ls->lanes[i].evicted;
	return sum;
}

void lanes_stop(struct lanes *ls)
{
	for (unsigned i = 0; ls && i < ls->n; i++)
		lane_stop(&ls->lanes[i]);
}

/* When all threads have ended, this one does what is left of them; then what they have sent. */
void lanes_free(struct lanes *ls)
{
	if (!ls)
		return;
	for (unsigned i = 0; i < ls->n; i++) {
		if (ls->lanes[i].has_thread)
			lane_quit(&ls->lanes[i]);
	}
	for (unsigned i = 0; i < ls->n; i++) {
		if (ls->lanes[i].has_thread)
			(void)pthread_join(ls->lanes[i].thread, NULL);
	}
	for (unsigned i = 0; i < ls->n; i++)
		lane_free(&ls->lanes[i]);
	ls->proxies->sandbox->on_stopped = NULL;
	ls->server = NULL;
	mailbox_free(ls->inbox);
	mailbox_free(ls->notes);
	(void)sem_destroy(&ls->done);
	free(ls);
}
