/* SPDX-License-Identifier: Apache-2.0 */
/* front/template/build_steps: runs the steps, each followed by a layer. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/fd.h"
#include "front/account/accounts.h"
#include "front/link/init_put.h"
#include "front/link/links.h"
#include "front/sandbox/sandboxes.h"
#include "front/template/build_impl.h"
#include "front/template/builds.h"
#include "front/util/mem.h"
#include "http/json.h"
#include "store/uploads.h"

#define ARCHIVE "/.atoll-build-archive" /* atoll-build removes it as soon as it has opened it */
#define LAST_PATHS ":/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

static const struct build_step *current(const struct build *b)
{
	return &b->spec.steps[b->at];
}

/* Expands variables of the base and of the steps so far. */
static void expand(const struct build *b, const char *text, struct buf *out)
{
	autojson json_t *all = json_copy(b->base_env);

	(void)json_object_update(all, b->env);
	build_expand(text, all, out);
}

/* --- effects of steps on variables ---------------------------------------------------------------------------- */

static int note_step(struct build *b, const struct build_step *st, struct err *e)
{
	char dir[BUILD_DIR_SIZE];
	autobuf struct buf text = BUF_INIT(BUILD_DIR_SIZE - 1);

	switch (st->type) {
	case STEP_ENV:
		return build_apply_env(st, b->env, b->base_env, e);
	case STEP_USER:
		expand(b, build_step_arg(st, 0), &text);
		if (!str_copy(b->user, sizeof b->user, buf_view(&text)))
			return err_set(e, EINVAL, "the name of the user is too long");
		if (!json_object_get(b->homes, b->user))
			(void)json_object_set_new(b->homes, b->user, json_sprintf("/home/%s", b->user));
		return 0;
	case STEP_WORKDIR:
		expand(b, build_step_arg(st, 0), &text);
		if (text.bad || build_join(build_cwd(b), buf_cstr(&text), dir) < 0)
			return err_set(e, EINVAL, "the name of the directory is too long");
		(void)str_copy(b->workdir, sizeof b->workdir, str_of(dir));
		return 0;
	default:
		return 0;
	}
}

int steps_replay(struct build *b, struct err *e)
{
	for (b->at = 0; b->at < b->cached; b->at++) {
		if (note_step(b, current(b), e) < 0)
			return -e->no;
	}
	b->disk_before = 0;
	return 0;
}

/* --- after a step --------------------------------------------------------------------------------------------- */

static void step_over(struct build *b)
{
	b->at++;
	steps_run(b);
}

static void on_saved(struct build *b, const char *name, uint32_t what)
{
	struct layer_row row = {
		.what = what,
		.bytes = b->disk_bytes > b->disk_before ? b->disk_bytes - b->disk_before : 0,
		.created_ms = clock_wall_ms(),
		.used_ms = clock_wall_ms(),
	};
	struct err e = ERR_INIT;
	struct layer_row old;
	bool had = layers_find(b->bs->link->store, b->keys[b->at + 1], clock_wall_ms(), &old, &e) == 0;

	memcpy(row.key, b->keys[b->at + 1], sizeof row.key);
	memcpy(row.base_key, b->base_key, sizeof row.base_key);
	memcpy(row.kept, name, sizeof row.kept);
	b->disk_before = b->disk_bytes;
	if (layers_put(b->bs->link->store, &row, &e) < 0) {
		build_fail(b, "%s", e.text);
		return;
	}
	b->save.name[0] = '\0';
	if (had)
		build_release(b->bs, old.kept); /* forced build: the new layer has replaced it */
	step_over(b);
}

static void step_done(struct build *b)
{
	struct err e = ERR_INIT;

	if (note_step(b, current(b), &e) < 0)
		build_fail(b, "%s", e.text);
	else if (build_step_has_layer(current(b)))
		build_box_save(b, false, on_saved);
	else
		step_over(b);
}

/* --- RUN ------------------------------------------------------------------------------------------------------ */

static void on_output(void *user, bool is_stderr, struct str data)
{
	build_output(user, is_stderr, data);
}

/* Then it has no layer, so the next build tries again. */
static void packages_failed(struct build *b, const char *why)
{
	build_log(b, "warn", "[base] going on without the packages of every image (image_packages): %s", why);
	step_over(b);
}

static void on_end(void *user, const struct run_end *end)
{
	struct build *b = user;
	const char *cmd = build_step_arg(current(b), 0);
	bool failed = end->no || end->refused || end->code != 0;

	b->run = NULL;
	build_output_end(b);
	if (failed && current(b)->is_ours)
		packages_failed(b, end->text);
	else if (end->no || end->refused)
		build_fail(b, "failed to run command '%.600s': command failed: %s", cmd, end->text);
	else if (end->code != 0)
		build_fail(b, "failed to run command '%.600s': %s", cmd, end->text);
	else
		step_done(b);
}

static const struct run_ops run_ops = { .on_output = on_output, .on_end = on_end };

/* A PATH set by the template must not hide ordinary commands. */
static json_t *run_env(const struct build *b)
{
	json_t *env = json_copy(b->env);
	const char *path = json_string_value(json_object_get(env, "PATH"));

	if (path)
		(void)json_object_set_new(env, "PATH", json_sprintf("%s%s", path, LAST_PATHS));
	return env;
}

/* Uses only what every image with a shell has, and nothing that the client has set. */
static void run_ours(struct build *b)
{
	const struct build_step *st = current(b);
	autojson json_t *args = json_pack("[s,s]", "-c", build_step_arg(st, 0));
	autojson json_t *env = json_pack("{s:s}", "PATH", LAST_PATHS + 1);
	struct run_spec sp = {
		.id = b->box.id,
		.request = "",
		.as_user = build_step_arg(st, 1),
		.cmd = "/bin/sh",
		.args = args,
		.envs = env,
		.cwd = "/",
	};

	b->run = init_run_new(b->bs->link, &sp, &run_ops, b);
}

static void run_command(struct build *b)
{
	const struct build_step *st = current(b);
	autojson json_t *args = json_pack("[s,s,s]", "-l", "-c", build_step_arg(st, 0));
	autojson json_t *env = run_env(b);
	struct run_spec sp = {
		.id = b->box.id,
		.request = "",
		.as_user = *build_step_arg(st, 1) ? build_step_arg(st, 1) : b->user,
		.cmd = "/bin/bash",
		.args = args,
		.envs = env,
		.cwd = build_cwd(b),
	};

	b->run = init_run_new(b->bs->link, &sp, &run_ops, b);
}

/* --- COPY ----------------------------------------------------------------------------------------------------- */

static void on_put(void *user, int no, const char *text)
{
	struct build *b = user;
	const struct build_step *st = current(b);
	const char *owner = *build_step_arg(st, 2) ? build_step_arg(st, 2) : b->user;

	b->put = NULL;
	if (no) {
		build_fail(b, "copy the files into the sandbox: %s", text);
		return;
	}
	autobuf struct buf dest = BUF_INIT(BUILD_DIR_SIZE);

	expand(b, build_step_arg(st, 1), &dest);
	build_box_helper(b,
	    json_pack("[s,s,s,s,s,s,s]", "copy", ARCHIVE, build_step_arg(st, 0), buf_cstr(&dest) ? buf_cstr(&dest) : "",
		build_cwd(b), owner, build_step_arg(st, 3)),
	    step_done);
}

static void copy_files(struct build *b)
{
	struct builds *bs = b->bs;
	uint64_t id, bytes;
	struct err e = ERR_INIT;

	if (uploads_find(bs->link->uploads, b->row.team, current(b)->files_hash, clock_wall_ms(), &id, &bytes, &e) <
	    0) {
		build_fail(b,
		    e.no == ENOENT ? "the files of this step were not uploaded, or are gone: build again%s" : "%s",
		    e.no == ENOENT ? "" : e.text);
		return;
	}
	b->put = init_put_new(bs->link, b->box.id, ARCHIVE, id, bytes, STR_NULL, on_put, b);
}

/* --- each step ------------------------------------------------------------------------------------------------ */

static void run_step(struct build *b)
{
	const struct build_step *st = current(b);
	autobuf struct buf text = BUF_INIT(BUILD_DIR_SIZE - 1);
	char dir[BUILD_DIR_SIZE];

	switch (st->type) {
	case STEP_RUN:
		(st->is_ours ? run_ours : run_command)(b);
		return;
	case STEP_COPY:
		copy_files(b);
		return;
	case STEP_WORKDIR:
		expand(b, build_step_arg(st, 0), &text);
		if (text.bad || build_join(build_cwd(b), buf_cstr(&text), dir) < 0)
			build_fail(b, "the name of the directory is too long");
		else
			build_box_helper(b, json_pack("[s,s,s]", "workdir", dir, b->user), step_done);
		return;
	case STEP_USER:
		expand(b, build_step_arg(st, 0), &text);
		build_box_helper(b,
		    json_pack("[s,s,s]", "user", buf_cstr(&text) ? buf_cstr(&text) : "", build_step_arg(st, 1)),
		    step_done);
		return;
	default:
		step_done(b);
	}
}

void steps_run(struct build *b)
{
	autobuf struct buf label = BUF_INIT(1024);
	char phase[BUILD_STEP_SIZE];

	if (b->at == b->spec.n) {
		final_run(b);
		return;
	}
	if (current(b)->is_ours) {
		build_phase(b, "base");
		(void)snprintf(b->label, sizeof b->label, "base");
		build_log(b, "info", "[base] packages of every image: %s", b->bs->link->opt.image_packages);
		run_step(b);
		return;
	}
	size_t ours = build_spec_ours(&b->spec);

	(void)snprintf(phase, sizeof phase, "%zu", b->at + 1 - ours);
	build_phase(b, phase);
	(void)snprintf(b->label, sizeof b->label, "builder %zu/%zu", b->at + 1 - ours, b->spec.n - ours);
	build_step_label(current(b), &label);
	build_log(b, "info", "[%s] %.*s", b->label, STR_ARG(buf_view(&label)));
	run_step(b);
}
