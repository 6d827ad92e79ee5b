/* SPDX-License-Identifier: Apache-2.0 */
/* front/api/purge: POST /purge: deletes everything of a team but the team itself and its keys. The team is the
 * caller's, or, for an admin, the one with the key {"key": ID}.
 *
 * First its sandboxes, running and paused, are killed. When the last of them has ended, snapshots, volumes and
 * templates are deleted; then its secrets and its history. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/log.h"
#include "front/account/accounts.h"
#include "front/account/keyring.h"
#include "front/api/api.h"
#include "front/api/handlers.h"
#include "front/api/reply.h"
#include "front/api/request.h"
#include "front/api/team.h"
#include "front/api/templates.h"
#include "front/link/links.h"
#include "front/record/audit.h"
#include "front/record/logbook.h"
#include "front/record/notebook.h"
#include "front/record/records.h"
#include "front/record/webhooks.h"
#include "front/sandbox/catalog.h"
#include "front/sandbox/end.h"
#include "front/sandbox/rules.h"
#include "front/sandbox/sandbox.h"
#include "front/sandbox/sandboxes.h"
#include "front/sandbox/snapshots.h"
#include "front/sandbox/table.h"
#include "front/sandbox/volumes.h"
#include "front/template/build.h"
#include "front/util/mem.h"
#include "http/json.h"
#include "loop/loop.h"
#include "store/purge.h"

#define MORE_AFTER_MS 5
#define ROWS_MS 20

struct purging {
	char team[TEAM_ID_SIZE];
	unsigned left; /* sandboxes that have not ended yet, plus one for the caller */
	int64_t sandboxes, snapshots, volumes, templates, failed, audit, notebooks;
	struct purge rows; /* progress in the database */
	struct timer *timer;
};

static const char *team_of(const struct req *r)
{
	const struct purging *p = r->work;

	return p->team;
}

static void drop_snapshots(struct req *r, struct purging *p)
{
	struct snapshot *sn, *next;

	for (sn = LIST_FIRST(&r->api->sandbox->snapshots); sn; sn = next) {
		struct err e = ERR_INIT;

		next = LIST_NEXT(sn, link);
		if (strcmp(sn->team, team_of(r)) != 0)
			continue;
		if (snapshot_remove(r->api->sandbox, sn, &e) == 0)
			p->snapshots++;
		else
			p->failed++;
	}
}

static void drop_volumes(struct req *r, struct purging *p)
{
	struct volume *v, *next;

	for (v = LIST_FIRST(&r->api->sandbox->volumes); v; v = next) {
		struct err e = ERR_INIT;

		next = LIST_NEXT(v, link);
		if (strcmp(v->team, team_of(r)) != 0)
			continue;
		if (volume_drop(v, r->id, &e) == 0)
			p->volumes++;
		else
			p->failed++;
	}
}

static void tell(struct req *r)
{
	const struct purging *p = r->work;

	log_info("team purged",
	    "team=%s request=%s sandboxes=%lld snapshots=%lld volumes=%lld templates=%lld failed=%lld", team_of(r),
	    r->id, (long long)p->sandboxes, (long long)p->snapshots, (long long)p->volumes, (long long)p->templates,
	    (long long)p->failed);
	reply_json(r, p->failed ? 500 : 200,
	    json_pack("{s:i,s:s,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I}", "code", p->failed ? 500 : 200, "message",
		p->failed ? "not all of it could be removed, try again" : "all of it is gone", "sandboxes",
		(json_int_t)p->sandboxes, "snapshots", (json_int_t)p->snapshots, "volumes", (json_int_t)p->volumes,
		"templates", (json_int_t)p->templates, "secrets", (json_int_t)p->rows.rows[PURGE_SECRETS], "records",
		(json_int_t)p->rows.rows[PURGE_SANDBOXES], "logs", (json_int_t)p->rows.rows[PURGE_LOGS], "audit",
		(json_int_t)p->audit, "notebooks", (json_int_t)p->notebooks),
	    NULL);
}

/* There may be gigabytes of rows, records and notebooks, and the loop is blocked meanwhile, so they are deleted in
 * portions. It continues even if the client disconnects. */
static void forget_more(void *user)
{
	struct req *r = user;
	struct purging *p = r->work;
	struct err e = ERR_INIT;
	bool had_webhooks = p->rows.step <= PURGE_WEBHOOKS;
	int n = purge_team_some(r->api->link->store, team_of(r), ROWS_MS, &p->rows, &e);

	/* at once: webhooks that are created from now on stay */
	if (had_webhooks && p->rows.step > PURGE_WEBHOOKS)
		webhooks_forget(r->api->record->webhooks, team_of(r));
	if (n == 0)
		n = audit_purge(r->api->record, team_of(r), &p->audit, &e);
	if (n == 0)
		n = notebook_purge_more(r->api->record, &e);
	if (n == 1) {
		timer_arm(p->timer, MORE_AFTER_MS);
		return;
	}
	timer_free(p->timer);
	rules_refresh(r->api->sandbox, team_of(r));
	if (n < 0)
		reply_err(r, &e);
	else
		tell(r);
	req_unref(r);
}

/* All sandboxes have ended. */
static void forget_all(struct req *r)
{
	struct purging *p = r->work;
	struct err e = ERR_INIT;

	drop_snapshots(r, p);
	drop_volumes(r, p);
	p->templates = templates_purge(r->api, team_of(r), &p->failed);
	logbook_save(r->api->record->logbook); /* otherwise what is in memory would be written later */
	p->timer = timer_new(r->api->link->loop, forget_more, r);
	if (!p->timer)
		(void)err_set(&e, ENOMEM, "out of memory");
	if (e.no || notebook_purge(r->api->record, team_of(r), &p->notebooks, &e) < 0) {
		timer_free(p->timer);
		reply_err(r, &e);
		return;
	}
	(void)req_ref(r);
	timer_arm(p->timer, 0);
}

static void one_ended(struct req *r, struct sandbox *sb)
{
	struct purging *p = r->work;

	if (sb->fail.no)
		p->failed++;
	else
		p->sandboxes++;
	if (--p->left == 0)
		forget_all(r);
}

/* The team of the key that the body names by id; else the caller's. On failure sends an answer. */
static int read_team(struct req *r, char ret[TEAM_ID_SIZE])
{
	autojson json_t *body = req_json(r, true);
	const char *id = NULL, *team = r->caller.team;
	struct err e = ERR_INIT;

	if (!body)
		return -EINVAL;
	if (json_get_str(body, "key", &id, &e) < 0) {
		reply_err(r, &e);
		return -EINVAL;
	}
	if (id) {
		struct key *k = keyring_next_key(r->api->account->keyring, NULL);

		while (k && strcmp(k->id, id) != 0)
			k = keyring_next_key(r->api->account->keyring, k);
		team = k ? k->team->id : NULL;
		if (!team || (!r->caller.admin && strcmp(team, r->caller.team) != 0)) {
			reply_error(r, 404, "field 'key': there is no key '%.60s'", id);
			return -ENOENT;
		}
	}
	return str_copy(ret, TEAM_ID_SIZE, str_of(team)) ? 0 : -EINVAL;
}

void api_purge(struct req *r)
{
	struct sandbox *sb, *next;
	char team[TEAM_ID_SIZE];

	if (req_has_quota(r)) { /* a key with a quota has only a share of the team's rights */
		reply_error(r, 403, "a key with a quota cannot remove all that its team has");
		return;
	}
	if (read_team(r, team) < 0)
		return;
	struct purging *p = r->work = must_alloc(sizeof *p);

	memcpy(p->team, team, sizeof p->team);
	p->left = 1;
	for (sb = sandbox_table_next(r->api->sandbox->table, NULL); sb; sb = next) {
		next = sandbox_table_next(r->api->sandbox->table, sb);
		if (strcmp(sb->team, team_of(r)) != 0 || sb->state == SANDBOX_STARTING)
			continue;
		p->left++;
		sb->fail = ERR_INIT;
		sandbox_by(sb, r->id);
		sandbox_ref(sb);
		sandbox_kill(sb, END_KILLED, "purged");
		req_wait(r, sb, one_ended);
		sandbox_unref(sb);
	}
	if (--p->left == 0)
		forget_all(r);
}
