/* SPDX-License-Identifier: Apache-2.0 */
/* front/record/audit: creates and writes records; segments. */
#include "front/record/audit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "audit/key.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "front/link/links.h"
#include "front/link/warden_link.h"
#include "front/record/audit_impl.h"
#include "front/record/records.h"
#include "front/util/mem.h"
#include "http/json.h"
#include "loop/loop.h"
#include "store/audit.h"
#include "store/db.h"

#define SAVE_AFTER_MS 1000            /* the file is complete at any time; who reads the table flushes it first */
#define PENDING_MAX (4 * 1024 * 1024) /* bytes of lines waiting for the database */
#define SAVE_BYTES (256 * 1024)       /* flush at once above this */
#define LISTED_MAX 60                 /* records of a class written individually per CLASS_EVERY_MS */
#define CLASS_EVERY_MS 60000
#define GAP_ROOM (16 << 10) /* free bytes required before writing resumes */
#define RETRY_S 5
#define TEXT_MAX (256 * 1024) /* of one text, with audit_code = full */
#define FORGET_TEXTS 64       /* texts deleted at a time */
#define PURGE_MS 5

static uint64_t segment_bytes(const struct audit *t)
{
	return (uint64_t)t->rs->link->opt.audit_segment_kb << 10;
}

static void arm(struct audit *t, uint64_t ms)
{
	timer_arm(t->timer, ms);
	t->is_due = true;
}

/* Takes the pending lines: other threads may add to the list while these are written. */
static struct buf take_pending(struct audit *t, bool *ret_gap)
{
	audit_lock(t);

	struct buf lines = t->pending;

	timer_disarm(t->timer);
	t->is_due = false;
	t->pending = BUF_INIT(PENDING_MAX);
	*ret_gap = t->has_gap;
	audit_unlock(t);
	return lines;
}

static void put_back(struct audit *t, struct buf *lines, bool saved)
{
	struct buf more;

	audit_lock(t);
	more = t->pending;
	if (saved)
		buf_clear(lines);
	buf_str(lines, buf_view(&more));
	if (lines->bad) { /* as in audit_pend() */
		buf_clear(lines);
		t->has_gap = true;
	}
	t->pending = *lines;
	if (!saved)
		arm(t, RETRY_S * 1000);
	audit_unlock(t);
	buf_done(&more);
}

void audit_flush(struct audit *t)
{
	bool has_gap;
	struct buf lines = take_pending(t, &has_gap);
	struct str rest = buf_view(&lines);
	struct audit_point head = { 0 };
	struct audit_line l;
	struct err e = ERR_INIT;

	if (rest.n == 0) {
		put_back(t, &lines, true);
		return;
	}

	int r = audit_db_begin(t->db, &e);

	while (r >= 0 && rest.n > 0) {
		struct str line = str_cut(&rest, '\n');

		if (audit_read(line, &l) < 0)
			continue;
		r = audit_db_add(t->db, &l, line, &e);
		head.seq = l.seq;
		memcpy(head.hash, l.hash, sizeof head.hash);
	}
	if (r >= 0)
		r = audit_db_commit(t->db, head.seq && !has_gap ? &head : NULL, &e);
	if (r < 0) {
		audit_db_rollback(t->db);
		if (!t->unsaved)
			log_error("could not update the table of the audit trail, retrying", "err=%s", e.text);
		t->unsaved = true;
		put_back(t, &lines, false);
		return;
	}
	t->unsaved = false;
	put_back(t, &lines, true);
}

void audit_pend(struct audit *t, struct str line)
{
	if (t->pending.n + line.n + 1 > PENDING_MAX) {
		if (!t->has_gap)
			log_error("the queue of the audit table is full: the table has a gap until the next start",
			    "bytes=%zu", t->pending.n);
		t->has_gap = true;
		return;
	}
	buf_str(&t->pending, line);
	buf_ch(&t->pending, '\n');
	if (t->pending.bad) { /* out of memory: treated like a full queue */
		buf_clear(&t->pending);
		t->has_gap = true;
	}
}

static void on_timer(void *user)
{
	audit_flush(user);
}

/* If the disk fills up in the middle of a record, its first bytes are removed; otherwise the next record would
 * follow a partial one. */
int audit_write(struct audit *t, struct str line, struct err *e)
{
	ssize_t n;

	if (t->fd < 0)
		return err_set(e, EBADF, "the file is not open");
	do
		n = write(t->fd, line.p, line.n);
	while (n < 0 && errno == EINTR);
	if (n == (ssize_t)line.n) {
		t->bytes += line.n;
		return 0;
	}
	int no = n < 0 ? errno : ENOSPC;

	if (n > 0 && ftruncate(t->fd, (off_t)t->bytes) < 0)
		log_error("a partial record remains in the audit trail", "errno=%d", errno);
	errno = no;
	return err_sys(e, "write the audit trail");
}

static struct str word(const char *z)
{
	struct str s = str_of(z ? z : "");

	return audit_word_valid(s) ? s : STR_NULL;
}

static int put(struct audit *t, const char *kind, const struct audit_who *who, struct str fields, struct err *e)
{
	autobuf struct buf line = BUF_INIT(AUDIT_LINE_MAX);
	struct audit_point at = t->at;
	struct audit_record rec = { .at_ms = clock_wall_ms(), .kind = str_of(kind), .fields = fields };

	if (who) {
		rec.request = word(who->request);
		rec.team = word(who->team);
		rec.key = word(who->key);
		rec.sandbox = word(who->sandbox);
		rec.session = word(who->session);
	}

	int r = audit_compose(t->seal, &rec, &at, &line);

	if (r < 0)
		return err_set(e, -r, "record of kind '%s' %s", kind,
		    r == -EINVAL ? "is malformed" : "does not fit into memory");
	if (audit_write(t, buf_view(&line), e) < 0)
		return -e->no;
	t->at = at;
	t->records++;
	if (!t->began_ms)
		t->began_ms = rec.at_ms;
	audit_pend(t, (struct str) { line.p, line.n - 1 });
	return 0;
}

/* Checks for enough free space: a full disk might take the short gap record, and then nothing after it. */
static bool has_room(const struct audit *t)
{
	return t->fd < 0 || fallocate(t->fd, FALLOC_FL_KEEP_SIZE, (off_t)t->bytes, GAP_ROOM) == 0 ||
	    (errno != ENOSPC && errno != EDQUOT);
}

/* Records how many records are missing, before the first one after a gap. */
static int tell_gap(struct audit *t, struct err *e)
{
	char since[CLOCK_RFC3339_SIZE], fields[128];

	if (t->lost == 0)
		return 0;
	if (!has_room(t))
		return err_set(e, ENOSPC, "write the audit trail: there is still no room");
	clock_rfc3339(t->lost_since_ms, since);
	(void)snprintf(fields, sizeof fields, "{\"lost\":%llu,\"since\":\"%s\"}", (unsigned long long)t->lost, since);
	if (put(t, "trail.gap", NULL, str_of(fields), e) < 0)
		return -e->no;
	log_warn("writing to the audit trail works again", "lost=%llu since=%s", (unsigned long long)t->lost, since);
	t->lost = 0;
	return 0;
}

uint64_t audit_put(struct audit *t, const char *kind, const struct audit_who *who, struct str fields)
{
	struct err e = ERR_INIT;

	if (tell_gap(t, &e) == 0 &&
	    (put(t, kind, who, fields, &e) == 0 ||
		(e.no == EINVAL && put(t, kind, who, STR_LIT("{\"unwritable\":true}"), &e) == 0))) {
		t->failing = false;
		return t->at.seq;
	}
	t->failures++;
	if (e.no == EINVAL) {
		log_error("bug: an audit record was refused", "err=%s", e.text);
		return 0;
	}
	if (t->lost++ == 0) {
		t->lost_since_ms = clock_wall_ms();
		log_error("could not write the audit trail", "err=%s then='%s'", e.text,
		    t->rs->link->opt.audit == AUDIT_REQUIRED ? "refusing all that would have to be recorded"
							     : "going on without");
	}
	t->failing = true;
	return 0;
}

/* What follows from a new record, in the main thread. */
static void look(struct audit *t)
{
	if (t->pending.n > SAVE_BYTES && !t->unsaved)
		audit_flush(t);
	else if (t->pending.n > 0 && !t->is_due)
		arm(t, SAVE_AFTER_MS);
	if (t->bytes >= segment_bytes(t))
		audit_want_next(t);
}

void audit_look(struct records *rs)
{
	struct audit *t = rs->audit;

	if (!t)
		return;
	audit_lock(t);
	t->asked = false;
	look(t);
	audit_unlock(t);
}

/* The same in another thread. */
static void ask_to_look(struct records *rs)
{
	struct audit *t = rs->audit;

	if (t->asked || (t->is_due && t->pending.n <= SAVE_BYTES && t->bytes < segment_bytes(t)))
		return;
	t->asked = true;
	rs->away->audit_look(rs->away_user);
}

uint64_t audit_add(struct records *rs, const char *kind, const struct audit_who *who, json_t *fields)
{
	autojson json_t *own = fields;
	autobuf struct buf text = BUF_INIT(AUDIT_FIELDS_MAX);
	struct audit *t = rs->audit;

	if (!t)
		return 0;
	if (own)
		json_put(&text, own);
	else
		buf_z(&text, "{}");

	audit_lock(t);

	uint64_t seq = audit_put(t, kind, who, text.bad ? STR_LIT("{\"truncated\":true}") : buf_view(&text));

	if (rs->away)
		ask_to_look(rs);
	else
		look(t);
	audit_unlock(t);
	return seq;
}

static void tell_more(struct records *rs, enum audit_class c)
{
	struct audit *t = rs->audit;
	char since[CLOCK_RFC3339_SIZE];

	if (t->classes[c].more == 0)
		return;
	clock_rfc3339(t->classes[c].since_ms, since);
	(void)audit_add(rs, t->classes[c].kind, NULL,
	    json_pack("{s:I,s:s}", "more", (json_int_t)t->classes[c].more, "since", since));
	t->classes[c].more = 0;
}

void audit_add_limited(struct records *rs, enum audit_class class, const char *kind, const struct audit_who *who,
    json_t *fields)
{
	struct audit *t = rs->audit;
	uint64_t now = clock_wall_ms();

	if (!t) {
		json_decref(fields);
		return;
	}
	audit_lock(t);
	if (now < t->classes[class].since_ms || now - t->classes[class].since_ms >= CLASS_EVERY_MS) {
		tell_more(rs, class);
		t->classes[class].since_ms = now;
		t->classes[class].listed = 0;
	}
	if (t->classes[class].listed < LISTED_MAX) {
		t->classes[class].listed++;
		(void)audit_add(rs, kind, who, fields);
	} else {
		json_decref(fields);
		t->classes[class].more++;
		(void)str_copy(t->classes[class].kind, sizeof t->classes[class].kind, str_of(kind));
	}
	audit_unlock(t);
}

/* Members that are not part of a record are added to its fields. */
static json_t *event_fields(const json_t *event)
{
	static const char *const own[] = { "kind", "request", "team", "key", "sandbox", "session", "fields" };
	json_t *fields = json_object_get(event, "fields") ? json_copy(json_object_get(event, "fields")) : json_object();
	const char *name;
	json_t *v;

	json_object_foreach((json_t *)event, name, v)
	{
		size_t i = 0;

		while (i < ARRAY_LEN(own) && strcmp(own[i], name) != 0)
			i++;
		if (i == ARRAY_LEN(own))
			(void)json_object_set(fields, name, v);
	}
	return fields;
}

int audit_event(struct records *rs, struct str text, struct err *e)
{
	autojson json_t *j = NULL;
	const char *given = NULL;
	char kind[AUDIT_WORD_MAX + 1];
	struct audit_who who = { NULL };
	json_t *fields = NULL;

	if (text.n > AUDIT_FIELDS_MAX)
		return err_set(e, EINVAL, "event is longer than %d bytes", AUDIT_FIELDS_MAX);
	if (json_read_object(text, false, &j, e) < 0 || json_need_str(j, "kind", &given, e) < 0 ||
	    json_get_str(j, "request", &who.request, e) < 0 || json_get_str(j, "team", &who.team, e) < 0 ||
	    json_get_str(j, "key", &who.key, e) < 0 || json_get_str(j, "sandbox", &who.sandbox, e) < 0 ||
	    json_get_str(j, "session", &who.session, e) < 0 || json_get_obj(j, "fields", &fields, e) < 0)
		return -e->no;

	/* The prefix makes sure that it cannot pass for an observation of the front. */
	bool named = str_starts(str_of(given), "agent.") || str_starts(str_of(given), "mcp.");

	if (snprintf(kind, sizeof kind, "%s%s", named ? "" : "agent.", given) >= (int)sizeof kind || !*given ||
	    !audit_word_valid(str_of(kind)))
		return err_set(e, EINVAL, "field 'kind' must be a word of letters, digits, '.', '_' and '-'");
	(void)audit_add(rs, kind, &who, event_fields(j));
	return 0;
}

/* The texts may grow until the table is twice as large as the trail; then the oldest are deleted. */
static int keep_text(struct records *rs, uint64_t seq, const char *team, struct str text, struct err *e)
{
	struct store *db = rs->audit->db;
	uint64_t bytes, max = (uint64_t)rs->link->opt.audit_max_mb << 21;
	autobuf struct buf cut = BUF_INIT(TEXT_MAX + 64);

	if (audit_db_bytes(db, &bytes, e) < 0)
		return -e->no;
	if (bytes + text.n > max && audit_db_forget_texts(db, FORGET_TEXTS, e) <= 0)
		return e->no ? -e->no
			     : err_set(e, EDQUOT, "the table is larger than %llu bytes", (unsigned long long)max);
	if (text.n > TEXT_MAX) {
		size_t n = TEXT_MAX;

		while (n > 0 && ((unsigned char)text.p[n] & 0xc0) == 0x80) /* do not split a UTF-8 character */
			n--;
		buf_put(&cut, text.p, n);
		buf_fmt(&cut, "\n[cut off: it has %zu bytes]", text.n);
		text = buf_view(&cut);
	}
	return audit_db_text(db, seq, team, text, e);
}

void audit_text(struct records *rs, uint64_t seq, const char *team, struct str text)
{
	struct err e = ERR_INIT;

	if (!rs->audit || rs->link->opt.audit_code != AUDIT_CODE_FULL || !seq)
		return;
	if (rs->away)
		rs->away->audit_text(rs->away_user, seq, team, text);
	else if (keep_text(rs, seq, team, text, &e) < 0)
		log_error("could not store a text of the audit trail", "seq=%llu err=%s", (unsigned long long)seq,
		    e.text);
}

bool audit_blocks(const struct records *rs)
{
	return rs->audit && rs->link->opt.audit == AUDIT_REQUIRED && rs->audit->failing;
}

/* --- segments --- */

static void adopt_next(struct audit *t, int fd, const struct msg_audit_file *m)
{
	char fields[160], hex[AUDIT_HEX_SIZE];

	audit_lock(t);
	/* The database must have the end of the old segment before anything is in the new one. */
	audit_flush(t);
	fd_close(t->fd);
	t->fd = fd;
	t->segment = m->n;
	t->first = m->first;
	t->other_bytes = m->bytes;
	t->bytes = 0;
	t->began_ms = 0;
	t->segment_seq = t->at.seq + 1;
	audit_hex(t->at.hash, sizeof t->at.hash, hex);
	(void)snprintf(fields, sizeof fields, "{\"segment\":%u}", t->segment);
	/* The log usually goes elsewhere, so this leaves evidence outside of the state directory. */
	log_info("the audit trail continues in a new file", "segment=%u seq=%llu hash=%s", t->segment,
	    (unsigned long long)t->at.seq, hex);
	(void)audit_put(t, "trail.segment", NULL, str_of(fields));
	look(t);
	audit_unlock(t);
}

static void on_next(void *user, const struct warden_reply *re)
{
	struct audit *t = user;

	t->asking = NULL;
	if (re->no || re->msg->type != RE_AUDIT || re->fd < 0) {
		log_warn("could not create a new file for the audit trail, continuing in the old one", "err=%s",
		    re->no ? re->text : "unexpected answer");
		fd_close(re->fd);
		return;
	}
	adopt_next(t, re->fd, (const struct msg_audit_file *)re->msg);
}

void audit_want_next(struct audit *t)
{
	struct msg_audit m = { .what = AUDIT_NEXT, .n = t->segment + 1 };

	if (t->asking || t->fd < 0 || t->bytes == 0 || !t->rs->link->warden)
		return;
	t->asking = warden_ask(t->rs->link->warden, OP_AUDIT, &m, sizeof m, on_next, t);
}

static void on_first(void *user, const struct warden_reply *re)
{
	struct audit *t = user;
	const struct msg_audit_file *m = (const struct msg_audit_file *)re->msg;
	audit_begun_fn *then = take_ptr(&t->then);
	struct err e = ERR_INIT;

	audit_lock(t);
	t->asking = NULL;
	if (re->no || re->msg->type != RE_AUDIT || re->fd < 0) {
		fd_close(re->fd);
		(void)err_set(&e, re->no ? re->no : EPROTO, "open the audit trail: %s",
		    re->no ? re->text : "unexpected answer");
	} else {
		t->fd = re->fd;
		t->segment = m->n;
		t->first = m->first;
		t->other_bytes = m->bytes;
		(void)audit_adopt(t, &e);
	}
	if (e.no) {
		t->failing = true;
		log_error("could not write to the audit trail, retrying", "err=%s", e.text);
		fd_close(take_fd(&t->fd));
	} else {
		t->failing = false;
		(void)audit_add(t->rs, "server.start", NULL, json_pack("{s:s}", "version", ATOLL_VERSION));
		audit_flush(t); /* creates the files that the database needs later */
	}
	audit_unlock(t);
	if (then)
		then(t->then_user, e.no && t->rs->link->opt.audit == AUDIT_REQUIRED ? &e : NULL);
}

static void want_first(struct audit *t)
{
	struct msg_audit m = { .what = AUDIT_LAST };

	if (!t->asking)
		t->asking = warden_ask(t->rs->link->warden, OP_AUDIT, &m, sizeof m, on_first, t);
}

void audit_tick(struct records *rs)
{
	struct audit *t = rs->audit;
	uint64_t now = clock_wall_ms();
	struct err e = ERR_INIT;

	if (!t)
		return;
	audit_lock(t);
	for (enum audit_class c = 0; c < AUDIT_CLASSES; c++) {
		if (now - t->classes[c].since_ms >= CLASS_EVERY_MS)
			tell_more(rs, c);
	}
	if (t->fd < 0 && rs->link->ticks % RETRY_S == 0)
		want_first(t);
	else if (t->lost > 0 && tell_gap(t, &e) == 0) /* there may be no next record that would try it */
		t->failing = false;
	look(t);
	audit_unlock(t);
}

/* --- start and end --- */

static int lock_init(pthread_mutex_t *ret)
{
	pthread_mutexattr_t attr;

	if (pthread_mutexattr_init(&attr) != 0)
		return -ENOMEM;

	bool ok = pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_RECURSIVE) == 0 && pthread_mutex_init(ret, &attr) == 0;

	(void)pthread_mutexattr_destroy(&attr);
	return ok ? 0 : -ENOMEM;
}

int audit_new(struct records *rs, const char *state_dir, struct err *e)
{
	autofree char *path = str_fmt("%s/audit.db", state_dir);
	uint8_t key[AUDIT_KEY_SIZE];

	if (rs->link->opt.audit == AUDIT_OFF)
		return 0;

	struct audit *t = rs->audit = must_alloc(sizeof *t);

	if (lock_init(&t->lock) < 0)
		return err_set(e, ENOMEM, "open the audit trail");
	t->rs = rs;
	t->fd = -1;
	t->pending = BUF_INIT(PENDING_MAX);
	if (!path)
		return err_set(e, ENOMEM, "name the table of the audit trail");
	if (audit_key_read(state_dir, true, key, e) < 0 || audit_db_open(path, &t->db, e) < 0)
		return -e->no;
	t->seal = audit_seal_new(key);
	explicit_bzero(key, sizeof key);
	return t->seal ? 0 : err_set(e, ENOMEM, "open the audit trail");
}

void audit_begin(struct records *rs, audit_begun_fn *then, void *user)
{
	struct audit *t = rs->audit;

	if (!t) {
		then(user, NULL);
		return;
	}
	t->timer = timer_new(rs->link->loop, on_timer, t);
	if (!t->timer) {
		struct err e;

		(void)err_set(&e, ENOMEM, "open the audit trail");
		then(user, &e);
		return;
	}
	t->then = then;
	t->then_user = user;
	want_first(t);
}

void audit_save(struct records *rs)
{
	if (rs->audit)
		audit_flush(rs->audit);
}

void audit_free(struct records *rs)
{
	struct audit *t = take_ptr(&rs->audit);

	if (!t)
		return;
	if (t->timer)
		audit_flush(t);
	timer_free(t->timer);
	fd_close(t->fd);
	buf_done(&t->pending);
	store_close(t->db);
	audit_seal_free(t->seal);
	(void)pthread_mutex_destroy(&t->lock);
	free(t);
}

int audit_purge(struct records *rs, const char *team, int64_t *total, struct err *e)
{
	if (!rs->audit)
		return 0;
	audit_flush(rs->audit);
	return audit_db_purge_some(rs->audit->db, team, PURGE_MS, total, e);
}

struct store *audit_db(struct records *rs)
{
	return rs->audit ? rs->audit->db : NULL;
}

bool audit_counts(const struct records *rs, struct audit_counts *ret)
{
	struct audit *t = rs->audit;

	if (!t)
		return false;
	audit_lock(t);
	*ret = (struct audit_counts) { .records = t->records,
		.failures = t->failures,
		.seq = t->at.seq,
		.bytes = t->other_bytes + t->bytes,
		.segment = t->segment,
		.failing = t->failing };
	audit_unlock(t);
	return true;
}
