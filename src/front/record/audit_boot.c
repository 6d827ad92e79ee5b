/* SPDX-License-Identifier: Apache-2.0 */
/* front/record/audit_boot: continues the audit trail where the previous front stopped.
 *
 * The end of the chain is read from the last file. These conditions are handled, each with a record:
 *
 *	a partial line at the end	a crash during a write; its effect was not confirmed to any client: it is
 *					truncated
 *	fewer records than the table	a crash of the host, or tampering: restored from the table
 *	an empty file, not the first	the same
 *	records missing in both		the chain continues after the last known record; verify finds the gap
 *	a bad line			stays unchanged; verify finds it */
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "front/link/links.h"
#include "front/record/audit_impl.h"
#include "front/record/records.h"
#include "loop/loop.h"
#include "store/audit.h"

#define PIECE (256 * 1024)

struct found {
	struct audit *t;
	struct audit_point known; /* end of the chain according to the table */
	uint64_t bad;             /* number of lines that are no valid records */
	uint64_t restored;
	uint64_t first_seq, first_ms;
};

static void take_line(struct found *fo, struct str line)
{
	struct audit *t = fo->t;
	struct audit_line l;

	if (audit_read(line, &l) < 0 || !audit_hash_fits(t->seal, &l)) {
		fo->bad++;
		return;
	}
	if (!audit_mac_fits(t->seal, &l) ||
	    (fo->first_seq && (l.seq != t->at.seq + 1 || memcmp(l.prev, t->at.hash, sizeof l.prev) != 0)))
		fo->bad++;
	if (!fo->first_seq) {
		fo->first_seq = l.seq;
		fo->first_ms = l.rec.at_ms;
	}
	t->at.seq = l.seq;
	memcpy(t->at.hash, l.hash, sizeof l.hash);
	if (l.seq == fo->known.seq && memcmp(l.hash, fo->known.hash, sizeof l.hash) != 0)
		fo->bad++;
	if (l.seq <= fo->known.seq)
		return;
	audit_pend(t, line); /* not in the table yet */
	if (t->pending.n > PIECE && !t->unsaved)
		audit_flush(t);
}

/* Reads all lines of the file. Returns the number of bytes after the last newline. */
static ssize_t read_lines(struct found *fo, struct buf *rest, struct err *e)
{
	struct audit *t = fo->t;

	for (off_t at = 0;;) {
		char *p = buf_room(rest, PIECE);
		ssize_t n = p ? pread(t->fd, p, PIECE, at) : 0;
		size_t used = 0;
		const char *nl;

		if (!p)
			return err_set(e, ENOMEM, "read the audit trail");
		if (n < 0)
			return err_sys(e, "read the audit trail");
		if (n == 0)
			break;
		at += n;
		rest->n += (size_t)n;
		while ((nl = memchr(rest->p + used, '\n', rest->n - used))) {
			take_line(fo, (struct str) { rest->p + used, (size_t)(nl - rest->p) - used });
			used = (size_t)(nl - rest->p) + 1;
		}
		buf_consume(rest, used);
		t->bytes = (uint64_t)at - rest->n;
		if (rest->n > AUDIT_LINE_MAX)
			return err_set(e, EBADMSG, "the audit trail has a line without an end");
	}
	return (ssize_t)rest->n;
}

static int put_back(void *user, uint64_t seq, struct str line, const char *text)
{
	struct found *fo = user;
	struct audit *t = fo->t;
	autobuf struct buf whole = BUF_INIT(AUDIT_LINE_MAX);
	struct audit_line l;
	struct err e = ERR_INIT;

	(void)text;
	if (seq != t->at.seq + 1 || audit_read(line, &l) < 0 || memcmp(l.prev, t->at.hash, sizeof l.prev) != 0 ||
	    !audit_hash_fits(t->seal, &l) || !audit_mac_fits(t->seal, &l))
		return -EBADMSG;
	buf_str(&whole, line);
	buf_ch(&whole, '\n');
	if (whole.bad || audit_write(t, buf_view(&whole), &e) < 0)
		return -EIO;
	t->at.seq = seq;
	memcpy(t->at.hash, l.hash, sizeof l.hash);
	fo->restored++;
	return 0;
}

static int find_begin(void *user, uint64_t seq, struct str line, const char *text)
{
	struct audit *t = user;
	struct audit_line l;
	char want[48];

	(void)text;
	(void)snprintf(want, sizeof want, "{\"segment\":%u}", t->segment);
	if (audit_read(line, &l) < 0 || !str_is(l.rec.fields, want))
		return 0;
	t->at.seq = seq - 1;
	memcpy(t->at.hash, l.prev, sizeof l.prev);
	return -1;
}

/* The table has more records than the file. */
static int catch_up(struct found *fo, struct err *e)
{
	struct audit *t = fo->t;
	struct audit_query q = { .max = INT64_MAX }, begin = { .kind = "trail.segment", .max = INT64_MAX };

	if (fo->known.seq <= t->at.seq)
		return 0;
	/* the file was emptied */
	if (!t->at.seq && t->segment > 1 && audit_db_each(t->db, &begin, find_begin, t, e) < 0)
		return -e->no;
	q.after = t->at.seq;
	if ((t->at.seq || t->segment == 1) && audit_db_each(t->db, &q, put_back, fo, e) < 0)
		return -e->no;
	return 0;
}

static void tell(struct found *fo, size_t torn, const char torn_hash[AUDIT_HEX_SIZE], uint64_t missing_from)
{
	struct audit *t = fo->t;
	char fields[256];

	if (torn) {
		log_warn("removed a partial record at the end of the audit trail", "bytes=%zu", torn);
		(void)snprintf(fields, sizeof fields, "{\"bytes\":%zu,\"sha256\":\"%s\"}", torn, torn_hash);
		(void)audit_put(t, "trail.repair", NULL, str_of(fields));
	}
	if (fo->restored) {
		log_error("the audit trail was shorter than its table: restored its end", "records=%llu",
		    (unsigned long long)fo->restored);
		(void)snprintf(fields, sizeof fields, "{\"records\":%llu}", (unsigned long long)fo->restored);
		(void)audit_put(t, "trail.restored", NULL, str_of(fields));
	}
	if (fo->bad || missing_from) {
		log_error("the audit trail is damaged, see 'atoll audit verify'", "bad=%llu missing_from=%llu",
		    (unsigned long long)fo->bad, (unsigned long long)missing_from);
		(void)snprintf(fields, sizeof fields, "{\"bad\":%llu,\"missing_from\":%llu}",
		    (unsigned long long)fo->bad, (unsigned long long)missing_from);
		(void)audit_put(t, "trail.damage", NULL, str_of(fields));
	}
}

int audit_adopt(struct audit *t, struct err *e)
{
	autobuf struct buf rest = BUF_INIT(PIECE + AUDIT_LINE_MAX + 1);
	struct found fo = { .t = t };
	char torn_hash[AUDIT_HEX_SIZE] = "";
	uint64_t missing_from = 0;

	t->bytes = 0;
	t->at = (struct audit_point) { 0 };
	buf_clear(&t->pending);
	t->unsaved = t->has_gap = false;
	if (audit_db_head(t->db, &fo.known, e) < 0)
		return -e->no;

	ssize_t torn = read_lines(&fo, &rest, e);

	if (torn < 0)
		return (int)torn;
	if (torn > 0) {
		audit_sha256(buf_view(&rest), torn_hash);
		if (ftruncate(t->fd, (off_t)t->bytes) < 0)
			return err_sys(e, "cut off half a record of the audit trail");
	}
	if (catch_up(&fo, e) < 0)
		return -e->no;
	if (fo.known.seq > t->at.seq) {
		missing_from = t->at.seq + 1;
		t->at = fo.known;
	}
	t->segment_seq = fo.first_seq;
	t->began_ms = fo.first_ms;
	audit_flush(t);
	if (t->bytes == 0 && t->segment > 1) {
		char fields[48];

		/* the start of a segment must be recorded, for its retention */
		(void)snprintf(fields, sizeof fields, "{\"segment\":%u}", t->segment);
		(void)audit_put(t, "trail.segment", NULL, str_of(fields));
	}
	tell(&fo, (size_t)torn, torn_hash, missing_from);
	return 0;
}
