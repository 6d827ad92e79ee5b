/* SPDX-License-Identifier: Apache-2.0 */
/* front/api/fork: POST /sandboxes/{id}/fork: copies of a running sandbox, with its processes.
 *
 * The sandbox is saved once, each copy is restored from that, and then the saved state is deleted. Copies have
 * their own ids and tokens. A copy that could not be created is an error in the list. The secrets that are added
 * to the outgoing requests of the source are added to those of a copy only if the client asks for it, because a
 * copy is often made to try something that the source must not do. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/engines.h"
#include "base/fd.h"
#include "base/log.h"
#include "front/account/quota.h"
#include "front/api/api.h"
#include "front/api/handlers.h"
#include "front/api/reply.h"
#include "front/api/request.h"
#include "front/api/sandboxes.h"
#include "front/api/team.h"
#include "front/link/links.h"
#include "front/link/saved.h"
#include "front/sandbox/life.h"
#include "front/sandbox/sandbox.h"
#include "front/sandbox/save.h"
#include "front/sandbox/spec.h"
#include "front/sandbox/start.h"
#include "front/util/mem.h"
#include "http/json.h"

#define TIMEOUT_DEFAULT_S 15
#define COUNT_MAX 100

struct fork {
	struct sandbox_waiter waiter;
	struct forks *all;
	struct sandbox *sb; /* NULL: not created, or settled */
	json_t *re;         /* its entry in the answer */
};

struct forks {
	struct req *r;
	struct sandbox *source;
	uint32_t timeout_s;
	bool secrets; /* copies get the secrets of the source */
	size_t n, left;
	char saved[ID_SIZE];
	struct fork v[];
};

static json_t *error_json(const struct err *e)
{
	int code = e->no == EDQUOT || e->no == EMFILE ? 429 : e->no == ESTALE ? 409 : 500;

	return json_pack("{s:{s:i,s:s}}", "error", "code", code, "message", e->text);
}

static void forks_done(struct forks *fs)
{
	json_t *all = json_array();

	for (size_t i = 0; i < fs->n; i++)
		(void)json_array_append_new(all, fs->v[i].re);
	saved_delete(fs->r->api->link, fs->saved);
	reply_json(fs->r, 201, all, NULL);
	sandbox_unref(fs->source);
	req_unref(fs->r);
	free(fs);
}

static void fork_over(struct fork *fk, json_t *re)
{
	struct forks *fs = fk->all;

	fk->re = re;
	sandbox_unref(take_ptr(&fk->sb));
	if (--fs->left == 0)
		forks_done(fs);
}

static void on_settled(struct sandbox_waiter *w, struct sandbox *sb)
{
	struct fork *fk = container_of(w, struct fork, waiter);

	fork_over(fk,
	    sb->state == SANDBOX_RUNNING ? json_pack("{s:o}", "sandbox", sandbox_json(fk->all->r, sb))
					 : error_json(&sb->fail));
}

static void fork_begin(struct fork *fk)
{
	struct forks *fs = fk->all;
	struct api *a = fs->r->api;
	struct quota_hit hit;
	struct spec sp;
	struct err e = ERR_INIT;

	if (spec_copy(&fs->source->spec, fs->secrets, &sp, &e) < 0) {
		fork_over(fk, error_json(&e));
		return;
	}
	sp.timeout_s = fs->timeout_s;
	memcpy(sp.from, fs->saved, sizeof sp.from);
	sp.from_what = SAVED_DISK | SAVED_MEMORY;
	memcpy(sp.parent, fs->source->id, sizeof sp.parent);
	if (quota_check_create(a->account, fs->source->team, fs->r->caller.key, &hit) < 0) {
		quota_text(&hit, &e);
		spec_done(&sp);
		fork_over(fk, error_json(&e));
		return;
	}
	if (api_check_room(a, fs->source->team, &e) < 0 ||
	    sandbox_new(a->sandbox, fs->source->team, fs->r->caller.key, &sp, NULL, &fk->sb, &e) < 0) {
		spec_done(&sp);
		fork_over(fk, error_json(&e));
		return;
	}
	quota_note_create(a->account, fs->source->team, fs->r->caller.key);
	(void)sandbox_ref(fk->sb);
	sandbox_by(fk->sb, fs->r->id);
	fk->waiter.fn = on_settled;
	sandbox_wait(fk->sb, &fk->waiter);
	sandbox_start_cold(fk->sb);
}

static void on_saved(void *user, const struct save_result *re)
{
	struct forks *fs = user;
	size_t n = fs->n;

	if (re->e.no) {
		if (re->e.no == ENOENT)
			reply_no_sandbox(fs->r, str_of(fs->source->id));
		else
			reply_error(fs->r, re->e.no == ENOTSUP ? 501 : 503, "sandbox '%s' cannot be forked: %s",
			    fs->source->id, re->e.text);
		sandbox_unref(fs->source);
		req_unref(fs->r);
		free(fs);
		return;
	}
	memcpy(fs->saved, re->name, sizeof fs->saved);
	sandbox_note(fs->source, LOG_LVL_INFO, JOURNAL_LIFECYCLE, "sandbox forked", "count=%zu secrets=%s request=%s",
	    n, fs->secrets ? "yes" : "no", fs->r->id);
	for (size_t i = 0; i < n; i++) /* the last one may complete at once, and free fs */
		fork_begin(&fs->v[i]);
}

void api_fork(struct req *r)
{
	struct sandbox *sb = req_sandbox(r);
	autojson json_t *body = sb ? req_json(r, true) : NULL;
	int64_t timeout_s = TIMEOUT_DEFAULT_S, count = 1;
	bool given, secrets = false;
	struct err e = ERR_INIT;

	if (!body)
		return;
	if (field_int(body, "timeout", 1, r->api->link->opt.max_timeout_s, &timeout_s, &given, &e) < 0 ||
	    field_int(body, "count", 1, COUNT_MAX, &count, &given, &e) < 0 ||
	    json_get_bool(body, "inheritSecrets", &secrets, &e) < 0) {
		reply_err(r, &e);
		return;
	}
	if (sandbox_being_saved(sb)) {
		req_again(r, sb, api_fork); /* after the snapshot or fork in progress */
		return;
	}
	const struct engine_rule rule = quota_engine(r->api->account, r->caller.team, r->caller.key);

	if (rule.required && rule.kind != spec_engine(&sb->spec)) {
		reply_error(r, 400, "a fork has the engine of its source, and the engine '%s' is required here",
		    engine_kind_name(rule.kind));
		return;
	}
	if (sb->state != SANDBOX_RUNNING) {
		reply_error(r, 409, "sandbox '%s' cannot be forked: it is not running", sb->id);
		return;
	}
	struct forks *fs = must_alloc(sizeof *fs + (size_t)count * sizeof *fs->v);

	fs->r = req_ref(r);
	fs->source = sandbox_ref(sb);
	fs->timeout_s = (uint32_t)timeout_s;
	fs->secrets = secrets;
	fs->n = fs->left = (size_t)count;
	for (size_t i = 0; i < fs->n; i++)
		fs->v[i].all = fs;
	sandbox_by(sb, r->id);
	sandbox_save(sb, SAVE_MEMORY, true, on_saved, fs);
}
