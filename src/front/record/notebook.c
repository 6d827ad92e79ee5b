/* SPDX-License-Identifier: Apache-2.0 */
/* front/record/notebook: limits and batches on top of store/notebooks. */
#include "front/record/notebook.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "audit/chain.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "front/link/links.h"
#include "front/record/facts.h"
#include "front/record/records.h"
#include "front/util/mem.h"
#include "http/json.h"
#include "ipc/msg.h"
#include "loop/loop.h"
#include "store/db.h"
#include "store/notebooks.h"
#include "store/teams.h"

#define SAVE_AFTER_MS 300
#define DROPS_MAX 64       /* notebooks deleted per check of the limit */
#define FORGET_MS 5        /* work per turn */
#define FORGET_PAUSE_MS 20 /* pause between turns */
#define HEADS 64           /* notebooks whose size is known during a transaction */

/* The size of a notebook. What was added since its row was written is added to the row before the commit, in one
 * statement for all cells. */
struct head {
	char id[ID_SIZE]; /* "": none */
	char team[TEAM_ID_SIZE];
	uint64_t bytes, cells;
	uint64_t new_bytes, new_cells; /* of these, not in the row */
};

struct notebooks {
	struct records *rs;
	struct store *db;
	struct timer *timer;      /* for the commit of the transaction */
	struct timer *forgetting; /* for deleting dropped notebooks */
	bool open;                /* a transaction is open */
	bool failing;             /* already logged */
	struct head heads[HEADS]; /* by hash of the id; valid while a transaction is open */
};

static void forget_heads(struct notebooks *n)
{
	for (size_t i = 0; i < HEADS; i++)
		n->heads[i].id[0] = '\0';
}

static int write_head(struct notebooks *n, struct head *h, struct err *e)
{
	uint64_t bytes = h->new_bytes, cells = h->new_cells;

	h->new_bytes = h->new_cells = 0;
	return h->id[0] && cells ? notebooks_grow(n->db, h->id, h->team, bytes, cells, e) : 0;
}

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
	forget_heads(n);
	n->open = false;
}

static void save(struct notebooks *n)
{
	struct err e = ERR_INIT;
	int r = 0;

	if (!n->open)
		return;
	timer_disarm(n->timer);
	for (size_t i = 0; i < HEADS && r >= 0; i++)
		r = write_head(n, &n->heads[i], &e);
	if (r >= 0)
		r = notebooks_commit(n->db, &e);
	told(n, r, &e);
	forget_heads(n);
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
		n->timer = timer_new(n->rs->link->loop, on_timer, n);
	if (!n->timer)
		return err_set(e, ENOMEM, "out of memory");
	if (notebooks_begin(n->db, e) < 0)
		return -e->no;
	n->open = true;
	timer_arm(n->timer, SAVE_AFTER_MS);
	return 0;
}

int notebooks_new(struct records *rs, const char *state_dir, struct err *e)
{
	autofree char *path = str_fmt("%s/notebooks.db", state_dir);

	if (!rs->link->opt.notebook_mb)
		return 0;
	if (!path)
		return err_set(e, ENOMEM, "name the file of notebooks");
	rs->notebooks = must_alloc(sizeof *rs->notebooks);
	rs->notebooks->rs = rs;
	return notebooks_open(path, &rs->notebooks->db, e);
}

void notebooks_free(struct records *rs)
{
	struct notebooks *n = take_ptr(&rs->notebooks);

	if (!n)
		return;
	save(n);
	timer_free(n->timer);
	timer_free(n->forgetting);
	store_close(n->db);
	free(n);
}

static struct head *head_slot(struct notebooks *n, const char *id)
{
	uint32_t h = 2166136261u; /* FNV-1a */

	for (const char *p = id; *p; p++)
		h = (h ^ (unsigned char)*p) * 16777619u;
	return &n->heads[h % HEADS];
}

/* Reads the size of the notebook, unless it is known. *ret_known: its row exists. */
static int find_head(struct notebooks *n, const struct sandbox_facts *sb, struct head **ret, bool *ret_known,
    struct err *e)
{
	struct head *h = head_slot(n, sb->id);

	*ret = h;
	*ret_known = strcmp(h->id, sb->id) == 0;
	if (*ret_known)
		return 0;
	if (write_head(n, h, e) < 0)
		return -e->no;
	h->id[0] = '\0';
	return notebooks_size(n->db, sb->id, &h->bytes, &h->cells, e);
}

static int add(struct notebooks *n, const struct sandbox_facts *sb, struct cell_row *c, struct err *e)
{
	uint64_t max = (uint64_t)n->rs->link->opt.notebook_mb << 20;
	struct head *h;
	bool known;

	if (begin(n, e) < 0 || find_head(n, sb, &h, &known, e) < 0)
		return -e->no;
	if (h->bytes + c->code.n > max)
		return notebooks_missed(n->db, sb->id, sb->team, e);
	if (h->bytes + c->code.n + c->output.n > max) {
		c->output.n = 0; /* a partial line is no valid output */
		c->cut = true;
	}
	c->n = ++h->cells;
	h->bytes += c->code.n + c->output.n;
	if (!known) {
		(void)str_copy(h->id, sizeof h->id, str_of(sb->id));
		(void)str_copy(h->team, sizeof h->team, str_of(sb->team));
		return notebooks_add(n->db, sb->id, sb->team, c, e);
	}
	h->new_cells++;
	h->new_bytes += c->code.n + c->output.n;
	return notebooks_add_cell(n->db, sb->id, c, e);
}

void notebook_add(struct records *rs, const struct sandbox_facts *sb, struct cell_row *c)
{
	struct notebooks *n = rs->notebooks;
	struct err e = ERR_INIT;

	if (n && rs->away)
		rs->away->cell(rs->away_user, sb, c);
	else if (n)
		told(n, add(n, sb, c, &e), &e);
}

void notebook_missed(struct records *rs, const struct sandbox_facts *sb)
{
	struct notebooks *n = rs->notebooks;
	struct err e = ERR_INIT;

	if (n && rs->away)
		rs->away->cell_missed(rs->away_user, sb);
	else if (n)
		told(n, begin(n, &e) < 0 ? -e.no : notebooks_missed(n->db, sb->id, sb->team, &e), &e);
}

void notebook_context(struct records *rs, const struct sandbox_facts *sb, struct str answer)
{
	struct notebooks *n = rs->notebooks;

	if (n && rs->away) {
		rs->away->context(rs->away_user, sb, answer);
		return;
	}

	autojson json_t *o = n ? json_loadb(answer.p ? answer.p : "", answer.n, 0, NULL) : NULL;
	const char *id = json_string_value(json_object_get(o, "id")),
		   *language = json_string_value(json_object_get(o, "language"));
	struct err e = ERR_INIT;

	if (id && *id && language && audit_word_valid(str_of(id)) && audit_word_valid(str_of(language)))
		told(n, begin(n, &e) < 0 ? -e.no : notebooks_context(n->db, sb->id, id, language, &e), &e);
}

void notebook_end(struct records *rs, const struct sandbox_facts *sb)
{
	struct notebooks *n = rs->notebooks;
	struct err e = ERR_INIT;

	if (n)
		told(n, begin(n, &e) < 0 ? -e.no : notebooks_end(n->db, sb->id, clock_wall_ms(), &e), &e);
}

struct lost {
	notebook_exists_fn *exists;
	void *user;
	char (*ids)[ID_SIZE];
	size_t n;
};

static void on_live(void *user, const char *sandbox)
{
	struct lost *l = user;

	if (l->exists(l->user, sandbox))
		return;
	l->ids = must_grow(l->ids, (l->n + 1) * sizeof *l->ids);
	(void)str_copy(l->ids[l->n++], ID_SIZE, str_of(sandbox));
}

void notebook_end_lost(struct records *rs, notebook_exists_fn *exists, void *user)
{
	struct notebooks *n = rs->notebooks;
	struct lost l = { .exists = exists, .user = user };
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

void notebook_prune(struct records *rs)
{
	struct notebooks *n = rs->notebooks;
	uint64_t bytes = 0;
	struct err e = ERR_INIT;

	if (!n)
		return;
	save(n);
	told(n, notebooks_drop_ended(n->db, clock_wall_ms() - rs->link->opt.notebooks_kept_s * 1000ull, &e), &e);
	for (int i = 0; i < DROPS_MAX && notebooks_bytes(n->db, &bytes, &e) == 0 &&
	    bytes > (uint64_t)rs->link->opt.notebooks_max_mb << 20;
	    i++) {
		if (notebooks_drop_oldest(n->db, &e) <= 0)
			break;
	}
	if (!n->forgetting)
		n->forgetting = timer_new(rs->link->loop, forget, n);
	if (n->forgetting)
		timer_arm(n->forgetting, 0);
}

int notebook_purge(struct records *rs, const char *team, int64_t *ret, struct err *e)
{
	struct notebooks *n = rs->notebooks;

	*ret = 0;
	if (!n)
		return 0;
	save(n);
	int r = notebooks_drop_team(n->db, team, e);

	*ret = r;
	return r < 0 ? r : 1;
}

int notebook_purge_more(struct records *rs, struct err *e)
{
	if (!rs->notebooks)
		return 0;
	save(rs->notebooks);
	return notebooks_forget_some(rs->notebooks->db, FORGET_MS, e);
}

void notebook_save(struct records *rs)
{
	if (rs->notebooks)
		save(rs->notebooks);
}

struct store *notebook_db(struct records *rs)
{
	return rs->notebooks ? rs->notebooks->db : NULL;
}
