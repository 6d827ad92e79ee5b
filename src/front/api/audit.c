/* SPDX-License-Identifier: Apache-2.0 */
/* front/api/audit: GET /audit and /admin/audit: records of the audit trail, as the lines in its files. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/fd.h"
#include "front/api/api.h"
#include "front/api/handlers.h"
#include "front/api/reply.h"
#include "front/api/request.h"
#include "front/record/audit.h"
#include "http/json.h"
#include "http/server.h"
#include "http/url.h"
#include "store/audit.h"

#define ROWS_MAX 10000
#define ROWS_DEFAULT 100
#define TEXT_MAX (900 * 1024) /* one text always fits, even after escaping */
#define ANSWER_MAX (6 * 1024 * 1024)
#define LOOK_MAX 100000 /* rows per request: the loop is blocked meanwhile */

struct asked {
	struct audit_query q;
	char *words[6]; /* team, key, sandbox, session, kind, request */
	bool text;
	uint64_t looked; /* last row examined if there may be more; with q.last, counting down */
	uint64_t shown;  /* number of the last record in the answer */
	bool full;
	struct buf out;
};

static const char *const word_names[] = { "team", "key", "sandbox", "session", "kind", "request" };

static void asked_done(struct asked *a)
{
	for (size_t i = 0; i < ARRAY_LEN(a->words); i++)
		free(a->words[i]);
	buf_done(&a->out);
}

static int read_number(struct str query, const char *name, uint64_t min, uint64_t max, uint64_t *ret, struct err *e)
{
	autofree char *z = NULL;
	int r = query_get(query, name, &z);

	if (r == -ENOENT)
		return 0;
	if (r < 0 || str_to_u64(str_of(z), max, ret) < 0 || *ret < min)
		return err_set(e, EINVAL, "parameter '%s' must be a number from %llu to %llu", name,
		    (unsigned long long)min, (unsigned long long)max);
	return 0;
}

static int read_time(struct str query, const char *name, uint64_t *ret, struct err *e)
{
	autofree char *z = NULL;
	int r = query_get(query, name, &z);
	uint64_t us;

	if (r == -ENOENT)
		return 0;
	if (r < 0 || clock_parse_rfc3339(str_of(z), &us) < 0)
		return err_set(e, EINVAL, "parameter '%s' must be a time like 2026-11-15T12:00:00Z", name);
	*ret = us / 1000;
	return 0;
}

static int read_words(struct asked *a, struct str query, struct err *e)
{
	for (size_t i = 0; i < ARRAY_LEN(a->words); i++) {
		int r = query_get(query, word_names[i], &a->words[i]);

		if (r != -ENOENT && (r < 0 || !audit_word_valid(str_of(a->words[i]))))
			return err_set(e, EINVAL,
			    "parameter '%s' must be a word of at most %d letters, digits, '-', '_', '.' and ':'",
			    word_names[i], AUDIT_WORD_MAX);
	}
	a->q.team = a->words[0];
	a->q.key = a->words[1];
	a->q.sandbox = a->words[2];
	a->q.session = a->words[3];
	a->q.kind = a->words[4];
	a->q.request = a->words[5];
	return 0;
}

static int read_query(struct asked *a, struct str query, struct err *e)
{
	autofree char *text = NULL;

	if (read_words(a, query, e) < 0 || read_number(query, "limit", 1, ROWS_MAX, &a->q.max, e) < 0 ||
	    read_number(query, "last", 1, ROWS_MAX, &a->q.last, e) < 0 ||
	    read_number(query, "after", 0, INT64_MAX, &a->q.after, e) < 0 ||
	    read_number(query, "before", 1, INT64_MAX, &a->q.before, e) < 0 ||
	    read_time(query, "from", &a->q.from_ms, e) < 0 || read_time(query, "to", &a->q.to_ms, e) < 0)
		return -EINVAL;
	if (!a->q.max)
		a->q.max = a->q.last ? a->q.last : ROWS_DEFAULT;
	if (query_get(query, "text", &text) == 0) {
		if (strcmp(text, "true") != 0 && strcmp(text, "false") != 0)
			return err_set(e, EINVAL, "parameter 'text' must be true or false");
		a->text = strcmp(text, "true") == 0;
	}
	return 0;
}

static int on_row(void *user, uint64_t seq, struct str line, const char *text)
{
	struct asked *a = user;
	size_t before = a->out.n;

	if (a->text && text && line.n > 0 && strlen(text) < TEXT_MAX) {
		autojson json_t *t = json_string(text);
		autofree char *quoted = t ? json_dumps(t, JSON_ENCODE_ANY | JSON_ENSURE_ASCII) : NULL;

		buf_put(&a->out, line.p, line.n - 1);
		buf_fmt(&a->out, ",\"text\":");
		buf_z(&a->out, quoted ? quoted : "null");
		buf_z(&a->out, "}\n");
	} else {
		buf_str(&a->out, line);
		buf_ch(&a->out, '\n');
	}
	if (!a->out.bad) {
		a->shown = seq;
		return 0;
	}
	a->out.n = before; /* the rest does not fit; the client asks again from the last record on */
	a->out.bad = false;
	a->full = true;
	return -EFBIG;
}

/* Reverses the lines: the last records are shown newest first. */
static void turn(struct buf *b)
{
	autobuf struct buf out = BUF_INIT(b->max);
	size_t end = b->n;

	while (end > 0) {
		const char *nl = end > 1 ? memrchr(b->p, '\n', end - 1) : NULL;
		size_t at = nl ? (size_t)(nl - b->p) + 1 : 0;

		buf_put(&out, b->p + at, end - at);
		end = at;
	}
	if (out.bad)
		return;
	struct buf old = *b;

	*b = out;
	out = old;
}

static void answer(struct req *r, bool all)
{
	__attribute__((cleanup(asked_done))) struct asked a = { .out = BUF_INIT(ANSWER_MAX) };
	struct store *db = audit_db(r->api->record);
	char more[64] = "";
	struct err e = ERR_INIT;

	if (!db) {
		reply_error(r, 404, "there is no audit trail: it is switched off (audit = off)");
		return;
	}
	if (read_query(&a, r->http->query, &e) < 0) {
		reply_err(r, &e);
		return;
	}
	if (!all)
		a.q.team = r->caller.team;
	a.q.look_max = LOOK_MAX;
	a.q.ret_looked = &a.looked;
	audit_save(r->api->record);
	if (audit_db_each(db, &a.q, on_row, &a, &e) < 0) {
		reply_err(r, &e);
		return;
	}
	if (a.q.last)
		turn(&a.out);
	if (a.full || a.looked)
		(void)snprintf(more, sizeof more, "X-Next-Token: %llu\r\n",
		    (unsigned long long)(a.full ? a.shown : a.looked));
	reply_text_with(r, "application/x-ndjson", buf_view(&a.out), more);
}

void api_audit(struct req *r)
{
	answer(r, false);
}

void admin_audit(struct req *r)
{
	answer(r, true);
}
