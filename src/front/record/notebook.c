/* SPDX-License-Identifier: Apache-2.0 */
/* front/record/notebook: limits and batches on top of store/notebooks. */
#include "front/record/notebook.h"

#include <jansson.h>
#include <stdlib.h>

#include "audit/chain.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "front/front.h"
#include "front/sandbox/sandbox.h"
#include "front/sandbox/table.h"
#include "front/util/mem.h"
#include "http/json.h"
#include "loop/loop.h"
#include "store/db.h"
#include "store/notebooks.h"

#define SAVE_AFTER_MS 300
#define DROPS_MAX 64       /* notebooks deleted per check of the limit */
#define FORGET_MS 5        /* work per turn */
#define FORGET_PAUSE_MS 20 /* pause between turns */

struct notebooks {
	struct front *front;
	struct store *db;
	struct timer *timer;      /* for the commit of the transaction */
	struct timer *forgetting; /* for deleting dropped notebooks */
	bool open;                /* a transaction is open */
	bool failing;             /* already logged */
};

static void told(struct notebooks *n, int r, const struct err *e)
{
	if (r < 0 && !n->failing)
		log_error("could not write to the notebooks", "err=%s", e->text);
	n->failing = r < 0;
	if (r >= 0 || !n->open)
		return;
	timer_disarm(n->timer);
	/* otherwise the state of the transaction would be unknown to the next calls */
	notebooks_rollback(n->db);
	n->open = false;
}

static void save(struct notebooks *n)
{
	struct err e = ERR_INIT;

	if (!n->open)
		return;
	timer_disarm(n->timer);
	told(n, notebooks_commit(n->db, &e), &e);
	n->open = false;
}

static void on_timer(void *user)
{
	save(user);
}

static int begin(struct notebooks *n, struct err *e)
{
	if (n->open)
		return 0;
	if (!n->timer)
		n->timer = timer_new(n->front->link.loop, on_timer, n);
	if (!n->timer)
		return err_set(e, ENOMEM, "out of memory");
	if (notebooks_begin(n->db, e) < 0)
		return -e->no;
	n->open = true;
	timer_arm(n->timer, SAVE_AFTER_MS);
	return 0;
}

int notebooks_new(struct front *f, const char *state_dir, struct err *e)
{
	autofree char *path = str_fmt("%s/notebooks.db", state_dir);

	if (!f->link.opt.notebooks.each_mb)
		return 0;
	if (!path)
		return err_set(e, ENOMEM, "name the file of notebooks");
	f->record.notebooks = must_alloc(sizeof *f->record.notebooks);
	f->record.notebooks->front = f;
	return notebooks_open(path, &f->record.notebooks->db, e);
}

void notebooks_free(struct front *f)
{
	struct notebooks *n = take_ptr(&f->record.notebooks);

	if (!n)
		return;
	save(n);
	timer_free(n->timer);
	timer_free(n->forgetting);
	store_close(n->db);
	free(n);
}

static int add(struct notebooks *n, struct sandbox *sb, struct cell_row *c, struct err *e)
{
	uint64_t bytes, cells, max = (uint64_t)n->front->link.opt.notebooks.each_mb << 20;

	if (begin(n, e) < 0 || notebooks_size(n->db, sb->id, &bytes, &cells, e) < 0)
		return -e->no;
	if (bytes + c->code.n > max)
		return notebooks_missed(n->db, sb->id, sb->team, e);
	if (bytes + c->code.n + c->output.n > max) {
		c->output.n = 0; /* a partial line is no valid output */
		c->cut = true;
	}
	c->n = cells + 1;
	return notebooks_add(n->db, sb->id, sb->team, c, e);
}

void notebook_add(struct sandbox *sb, struct cell_row *c)
{
	struct notebooks *n = sb->front->record.notebooks;
	struct err e = ERR_INIT;

	if (n)
		told(n, add(n, sb, c, &e), &e);
}

void notebook_missed(struct sandbox *sb)
{
	struct notebooks *n = sb->front->record.notebooks;
	struct err e = ERR_INIT;

	if (n)
		told(n, begin(n, &e) < 0 ? -e.no : notebooks_missed(n->db, sb->id, sb->team, &e), &e);
}

void notebook_context(struct sandbox *sb, struct str answer)
{
	struct notebooks *n = sb->front->record.notebooks;
	autojson json_t *o = n ? json_loadb(answer.p ? answer.p : "", answer.n, 0, NULL) : NULL;
	const char *id = json_string_value(json_object_get(o, "id")),
		   *language = json_string_value(json_object_get(o, "language"));
	struct err e = ERR_INIT;

	if (id && *id && language && audit_word_valid(str_of(id)) && audit_word_valid(str_of(language)))
		told(n, begin(n, &e) < 0 ? -e.no : notebooks_context(n->db, sb->id, id, language, &e), &e);
}

void notebook_end(struct sandbox *sb)
{
	struct notebooks *n = sb->front->record.notebooks;
	struct err e = ERR_INIT;

	if (n)
		told(n, begin(n, &e) < 0 ? -e.no : notebooks_end(n->db, sb->id, clock_wall_ms(), &e), &e);
}

struct lost {
	struct front *front;
	char (*ids)[ID_SIZE];
	size_t n;
};

static void on_live(void *user, const char *sandbox)
{
	struct lost *l = user;

	if (sandbox_table_find(l->front->sandbox.table, str_of(sandbox)))
		return;
	l->ids = must_grow(l->ids, (l->n + 1) * sizeof *l->ids);
	(void)str_copy(l->ids[l->n++], ID_SIZE, str_of(sandbox));
}

void notebook_end_lost(struct front *f)
{
	struct notebooks *n = f->record.notebooks;
	struct lost l = { .front = f };
	struct err e = ERR_INIT;

	if (!n)
		return;
	told(n, notebooks_live(n->db, on_live, &l, &e), &e);
	for (size_t i = 0; i < l.n; i++)
		told(n, notebooks_end(n->db, l.ids[i], clock_wall_ms(), &e), &e);
	free(l.ids);
}

/* In small portions, because the loop is blocked meanwhile. */
static void forget(void *user)
{
	struct notebooks *n = user;
	struct err e = ERR_INIT;

	save(n);
	int r = notebooks_forget_some(n->db, FORGET_MS, &e);

	told(n, r, &e);
	if (r == 1)
		timer_arm(n->forgetting, FORGET_PAUSE_MS);
}

void notebook_prune(struct front *f)
{
	struct notebooks *n = f->record.notebooks;
	uint64_t bytes = 0;
	struct err e = ERR_INIT;

	if (!n)
		return;
	save(n);
	told(n, notebooks_drop_ended(n->db, clock_wall_ms() - f->link.opt.notebooks.kept_s * 1000ull, &e), &e);
	for (int i = 0; i < DROPS_MAX && notebooks_bytes(n->db, &bytes, &e) == 0 &&
	    bytes > (uint64_t)f->link.opt.notebooks.max_mb << 20;
	    i++) {
		if (notebooks_drop_oldest(n->db, &e) <= 0)
			break;
	}
	if (!n->forgetting)
		n->forgetting = timer_new(f->link.loop, forget, n);
	if (n->forgetting)
		timer_arm(n->forgetting, 0);
}

int notebook_purge(struct front *f, const char *team, int64_t *ret, struct err *e)
{
	struct notebooks *n = f->record.notebooks;

	*ret = 0;
	if (!n)
		return 0;
	save(n);
	int r = notebooks_drop_team(n->db, team, e);

	*ret = r;
	return r < 0 ? r : 1;
}

int notebook_purge_more(struct front *f, struct err *e)
{
	if (!f->record.notebooks)
		return 0;
	save(f->record.notebooks);
	return notebooks_forget_some(f->record.notebooks->db, FORGET_MS, e);
}

void notebook_save(struct front *f)
{
	if (f->record.notebooks)
		save(f->record.notebooks);
}

struct store *notebook_db(struct front *f)
{
	return f->record.notebooks ? f->record.notebooks->db : NULL;
}
