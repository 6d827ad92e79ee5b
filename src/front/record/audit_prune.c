/* SPDX-License-Identifier: Apache-2.0 */
/* front/record/audit_prune: removes segments of the audit trail that are too old, or more than there is room for. */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "front/link/links.h"
#include "front/link/warden_link.h"
#include "front/record/audit_impl.h"
#include "front/record/records.h"
#include "http/json.h"
#include "store/audit.h"

#define SEGMENT_AGE_MS (24ull * 3600 * 1000)

/* The end of a segment is not indexed: the first record of the next one has it. */
struct edge {
	uint32_t segment;
	struct audit_point last; /* last record of the previous segment */
	uint64_t at_ms;
	bool found;
};

static int on_segment_row(void *user, uint64_t seq, struct str line, const char *text)
{
	struct edge *ed = user;
	struct audit_line l;
	char want[48];

	(void)text;
	(void)snprintf(want, sizeof want, "{\"segment\":%u}", ed->segment);
	if (audit_read(line, &l) < 0 || !str_is(l.rec.fields, want))
		return 0;
	ed->last.seq = seq - 1;
	memcpy(ed->last.hash, l.prev, sizeof l.prev);
	ed->at_ms = l.rec.at_ms;
	ed->found = true;
	return -1;
}

static void on_dropped(void *user, const struct warden_reply *re)
{
	struct audit *t = user;
	struct err e = ERR_INIT;

	t->asking = NULL;
	if (re->no) {
		log_warn("could not delete a segment of the audit trail, retrying", "segment=%u err=%s", t->first,
		    re->text);
		return;
	}
	t->first++;
	if (audit_db_prune(t->db, t->dropping.seq + 1, &e) < 0)
		log_warn("could not delete old rows of the audit trail", "err=%s", e.text);
}

/* A record names the hash with which the remaining chain begins. It is written before the segment is dropped,
 * because a chain without its beginning and without such a record counts as damaged. */
static void drop_first(struct audit *t, const struct edge *ed)
{
	struct msg_audit m = { .what = AUDIT_DROP, .n = t->first };
	char hex[AUDIT_HEX_SIZE];

	audit_hex(ed->last.hash, sizeof ed->last.hash, hex);
	if (t->dropping.seq != ed->last.seq &&
	    !audit_add(t->rs, "trail.retention", NULL,
		json_pack("{s:i,s:I,s:s}", "segment", (int)t->first, "last_seq", (json_int_t)ed->last.seq, "last_hash",
		    hex)))
		return;
	t->dropping = ed->last;
	t->asking = warden_ask(t->rs->link->warden, OP_AUDIT, &m, sizeof m, on_dropped, t);
}

static void prune(struct records *rs, struct audit *t)
{
	uint64_t now = clock_wall_ms();
	struct audit_query q = { .kind = "trail.segment", .max = UINT32_MAX };
	struct err e = ERR_INIT;

	if (t->fd < 0 || t->asking || !rs->link->warden)
		return;

	uint64_t kept_ms = rs->link->opt.audit_kept_s * 1000ull,
		 age_ms = kept_ms && kept_ms / 4 < SEGMENT_AGE_MS ? kept_ms / 4 : SEGMENT_AGE_MS;
	bool is_old = t->began_ms && now > t->began_ms && now - t->began_ms > age_ms;

	if (is_old && t->at.seq > t->segment_seq) {
		audit_want_next(t);
		return;
	}
	if (t->first >= t->segment)
		return;

	struct edge ed = { .segment = t->first + 1 };

	audit_flush(t);
	if (audit_db_each(t->db, &q, on_segment_row, &ed, &e) < 0 || !ed.found)
		return;
	if ((kept_ms && now > ed.at_ms + kept_ms) ||
	    t->other_bytes + t->bytes > (uint64_t)rs->link->opt.audit_max_mb << 20)
		drop_first(t, &ed);
}

void audit_prune(struct records *rs)
{
	if (!rs->audit)
		return;
	audit_lock(rs->audit);
	prune(rs, rs->audit);
	audit_unlock(rs->audit);
}
