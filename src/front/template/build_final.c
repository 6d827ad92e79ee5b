/* SPDX-License-Identifier: Apache-2.0 */
/* front/template/build_final: sets up what every sandbox of the template starts with: the defaults on disk, and
 * the running start command. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/fd.h"
#include "front/account/accounts.h"
#include "front/link/links.h"
#include "front/sandbox/sandbox.h"
#include "front/sandbox/sandboxes.h"
#include "front/template/build_impl.h"
#include "front/template/builds.h"
#include "front/util/mem.h"
#include "http/json.h"
#include "loop/loop.h"

#define READY_EVERY_MS 2000
#define READY_DEFAULT "sleep 20" /* if there is a start command without a ready command */
#define TRUST_WAIT_MS 60000
#define DEFAULTS_MAX (100 * 1024) /* the kernel limits one argument of a program to 128 KiB */

static bool has_start(const struct build *b)
{
	return *b->spec.start_cmd != '\0';
}

static void on_final_saved(struct build *b, const char *name, uint32_t what)
{
	struct layer_row row = {
		.what = what,
		.bytes = b->disk_bytes > b->disk_before ? b->disk_bytes - b->disk_before : 0,
		.created_ms = clock_wall_ms(),
		.used_ms = clock_wall_ms(),
	}, old;
	struct err e = ERR_INIT;
	if (has_start(b) && !(what & SAVED_MEMORY))
		what = row.what = what | SAVED_START;
	bool had = layers_find(b->bs->link->store, b->final_key, clock_wall_ms(), &old, &e) == 0;

	memcpy(row.key, b->final_key, sizeof row.key);
	memcpy(row.base_key, b->base_key, sizeof row.base_key);
	memcpy(row.kept, name, sizeof row.kept);
	if (layers_put(b->bs->link->store, &row, &e) < 0) {
		build_fail(b, "%s", e.text);
		return;
	}
	b->save.name[0] = '\0';
	if (had)
		build_release(b->bs, old.kept);
	build_ready(b, row.kept, what);
}

/* --- certificate authorities ----------------------------------------------------------------------------------- */

/* An authority that the build has installed where Debian looks for it becomes trusted, whether or not a step ran
 * update-ca-certificates, as on E2B. This takes a second, so it runs only if an authority is new or not in the
 * bundle yet. */
static const char trust_cmd[] =
    "command -v update-ca-certificates >/dev/null && cd /usr/local/share/ca-certificates || exit 0\n"
    "news=$(find . -type f -name '*.crt' -newer /etc/ssl/certs/ca-certificates.crt)\n"
    "[ -n \"$news\" ] || news=$(find . -type f -name '*.crt' | while IFS= read -r f; do\n"
    "	n=$(basename \"$f\" .crt | tr ' ' '_' | tr '()' '=,')\n"
    "	[ -e \"/etc/ssl/certs/$n.pem\" ] || echo \"$f\"\n"
    "done)\n"
    "[ -z \"$news\" ] || exec update-ca-certificates";

static void on_trusted(void *user, const struct run_end *end)
{
	struct build *b = user;

	b->run = NULL;
	/* an image without a shell has no such directory either */
	if (end->no || (!end->refused && end->code != 0))
		build_log(b, "warn", "[finalize] update-ca-certificates failed: %s", end->text);
	build_log(b, "info", "[finalize] saving the template");
	build_box_save(b, has_start(b) && b->bs->sandbox->can_checkpoint, on_final_saved);
}

static void trust_authorities(struct build *b)
{
	static const struct run_ops ops = { .on_end = on_trusted };
	autojson json_t *args = json_pack("[s,s]", "-c", trust_cmd);
	struct run_spec sp = {
		.id = b->box.id,
		.request = "",
		.as_user = "root",
		.cmd = "/bin/sh",
		.args = args,
		.cwd = "/",
		.wait_ms = TRUST_WAIT_MS,
	};

	b->run = init_run_new(b->bs->link, &sp, &ops, b);
}

/* Stops watching the commands; they continue to run. */
static void save_it(struct build *b)
{
	init_run_free(take_ptr(&b->start_run));
	timer_free(take_ptr(&b->timer));
	build_output_end(b);
	trust_authorities(b);
}

/* --- the start command ----------------------------------------------------------------------------------------- */

static void on_start_output(void *user, bool is_stderr, struct str data)
{
	build_output(user, is_stderr, data);
}

static void on_start_end(void *user, const struct run_end *end)
{
	struct build *b = user;

	b->start_run = NULL;
	build_output_end(b);
	if (end->no || end->refused || end->code != 0)
		build_fail(b, "start command failed: %s", end->text); /* status 0 is fine: it has done its work */
}

static const struct run_ops start_ops = { .on_output = on_start_output, .on_end = on_start_end };

static struct init_run *run(struct build *b, const char *cmd, const struct run_ops *ops, uint64_t wait_ms)
{
	autojson json_t *args = json_pack("[s,s,s]", "-l", "-c", cmd);
	struct run_spec sp = {
		.id = b->box.id,
		.request = "",
		.as_user = b->user,
		.cmd = "/bin/bash",
		.args = args,
		.envs = b->env,
		.cwd = build_cwd(b),
		.wait_ms = wait_ms,
	};

	if (b->start.inherited) {
		sp.as_user = b->start.user;
		sp.cwd = *b->start.workdir ? b->start.workdir : build_home(b, b->start.user);
	}

	return init_run_new(b->bs->link, &sp, ops, b);
}

/* --- the ready command ----------------------------------------------------------------------------------------- */

static void try_ready(void *user);

static void on_ready_end(void *user, const struct run_end *end)
{
	struct build *b = user;
	uint64_t now = clock_mono_ms();

	b->run = NULL;
	if (end->refused) {
		build_fail(b, "ready command failed: %s", end->text);
	} else if (!end->no && end->code == 0) {
		build_log(b, "info", "[finalize] Template is ready");
		save_it(b);
	} else if (now + READY_EVERY_MS >= b->ready_until_ms) {
		build_fail(b, "ready command timed out after %u seconds: %s", b->bs->link->opt.ready_timeout_s,
		    end->text);
	} else {
		build_log(b, "debug", "[finalize] Template is not ready: %s", end->text);
		timer_arm(b->timer, READY_EVERY_MS);
	}
}

static const struct run_ops ready_ops = { .on_end = on_ready_end };

static void try_ready(void *user)
{
	struct build *b = user;
	uint64_t now = clock_mono_ms();
	const char *cmd = *b->spec.ready_cmd ? b->spec.ready_cmd : READY_DEFAULT;

	b->run = run(b, cmd, &ready_ops, b->ready_until_ms > now ? b->ready_until_ms - now : 1);
}

static void on_defaults(struct build *b)
{
	if (!has_start(b) && !*b->spec.ready_cmd) {
		save_it(b);
		return;
	}
	(void)snprintf(b->label, sizeof b->label, "start");
	if (has_start(b)) {
		build_log(b, "info", "[finalize] Running start command: %.600s", b->spec.start_cmd);
		b->start_run = run(b, b->spec.start_cmd, &start_ops, 0);
	}
	build_log(b, "info", "[finalize] Waiting for template to be ready: %.600s",
	    *b->spec.ready_cmd ? b->spec.ready_cmd : READY_DEFAULT);
	b->ready_until_ms = clock_mono_ms() + b->bs->link->opt.ready_timeout_s * 1000ull;
	timer_free(b->timer);
	b->timer = timer_new(b->bs->link->loop, try_ready, b);
	timer_arm(b->timer, 0);
}

void final_run(struct build *b)
{
	autobuf struct buf text = BUF_INIT(DEFAULTS_MAX);
	autojson json_t *j = json_pack("{s:O,s:s,s:s}", "env", b->env, "user", b->user, "workdir", b->workdir);

	build_phase(b, "finalize");
	(void)snprintf(b->label, sizeof b->label, "finalize");
	if (has_start(b)) {
		(void)json_object_set_new(j, "startCmd", json_string(b->spec.start_cmd));
		(void)json_object_set_new(j, "readyCmd",
		    json_string(*b->spec.ready_cmd ? b->spec.ready_cmd : READY_DEFAULT));
	}
	if (has_start(b) && b->start.inherited) {
		(void)json_object_set_new(j, "startUser", json_string(b->start.user));
		(void)json_object_set_new(j, "startWorkdir", json_string(b->start.workdir));
	}
	json_put(&text, j);
	if (text.bad)
		build_fail(b, "the variables and commands of the template take more than %d bytes", DEFAULTS_MAX);
	else
		build_box_helper(b, json_pack("[s,s]", "defaults", buf_cstr(&text)), on_defaults);
}
