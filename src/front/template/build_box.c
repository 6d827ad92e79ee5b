/* SPDX-License-Identifier: Apache-2.0 */
/* front/template/build_box: the sandbox of a build: starts a box with the default settings, reads the facts about
 * its image, and saves it while it is frozen. */
#include <errno.h>
#include <string.h>

#include "base/fd.h"
#include "base/rand.h"
#include "front/account/accounts.h"
#include "front/account/limits.h"
#include "front/link/init_build.h"
#include "front/link/init_put.h"
#include "front/link/links.h"
#include "front/link/saved.h"
#include "front/sandbox/sandbox.h"
#include "front/sandbox/sandboxes.h"
#include "front/sandbox/table.h"
#include "front/template/build_impl.h"
#include "front/template/builds.h"
#include "front/util/mem.h"
#include "http/json.h"

/* init runs when the warden reports the start, but it may have to be read from a busy disk */
#define SETTINGS_WAIT_MS 60000
#define HELPER_WAIT_MS 600000
#define QUIET_MS 2000
#define DEFAULT_USER "user"

void build_box_end(struct build *b)
{
	init_run_free(take_ptr(&b->run));
	init_run_free(take_ptr(&b->start_run));
	init_build_free(take_ptr(&b->helper));
	init_put_free(take_ptr(&b->put));
	if (box_present(&b->box))
		box_kill(&b->box, "", NULL, NULL);
	box_done(&b->box);
	box_init(&b->box, b->bs->link, "");
	if (b->save.name[0]) /* incomplete, or without a row */
		saved_delete(b->bs->link, b->save.name);
	b->save.name[0] = '\0';
}

const char *build_home(const struct build *b, const char *user)
{
	const char *home = json_string_value(json_object_get(b->homes, user));

	return home ? home : strcmp(user, "root") == 0 ? "/root" : "/home";
}

const char *build_cwd(const struct build *b)
{
	return *b->workdir ? b->workdir : build_home(b, b->user);
}

/* --- atoll-build inside -------------------------------------------------------------------------------------- */

static void on_helped(void *user, int no, const char *text)
{
	struct build *b = user;

	b->helper = NULL;
	if (no) {
		build_fail(b, "%s", text);
		return;
	}
	buf_clear(&b->facts);
	buf_z(&b->facts, text);
	b->then(b);
}

void build_box_helper(struct build *b, json_t *args, void (*then)(struct build *b))
{
	b->then = then;
	b->helper = init_build_new(b->bs->link, b->box.id, args, HELPER_WAIT_MS, on_helped, b);
}

/* --- start --------------------------------------------------------------------------------------------------- */

static const char *fact(const json_t *facts, const char *name, const char *otherwise)
{
	const char *v = json_string_value(json_object_get(facts, name));

	return v ? v : otherwise;
}

/* Inherits the commands of the base template, unless the build has its own. */
static void inherit_start(struct build *b, json_t *facts)
{
	const char *start = json_string_value(json_object_get(facts, "startCmd"));
	const char *ready = json_string_value(json_object_get(facts, "readyCmd"));

	if (!start || *b->spec.start_cmd)
		return;
	b->start.inherited = str_copy(b->start.user, sizeof b->start.user, str_of(fact(facts, "startUser", b->user))) &&
	    str_copy(b->start.workdir, sizeof b->start.workdir, str_of(fact(facts, "startWorkdir", b->workdir)));
	(void)json_object_set(b->spec.body, "atoll facts", facts); /* freed with the body */
	b->spec.start_cmd = start;
	if (ready && !*b->spec.ready_cmd)
		b->spec.ready_cmd = ready;
}

/* {"env":{},"homes":{},"user":"","workdir":"","startCmd":"","readyCmd":""} */
static void on_facts(struct build *b)
{
	autojson json_t *facts = NULL;
	const char *user = NULL, *workdir = NULL;
	struct err e = ERR_INIT;

	if (json_read_object(buf_view(&b->facts), false, &facts, &e) < 0 ||
	    json_get_str(facts, "user", &user, &e) < 0 || json_get_str(facts, "workdir", &workdir, &e) < 0 ||
	    json_get_obj(facts, "env", &b->base_env, &e) < 0 || json_get_obj(facts, "homes", &b->homes, &e) < 0) {
		b->base_env = b->homes = NULL;
		build_fail(b, "the builder inside: %s", e.text);
		return;
	}
	json_incref(b->base_env);
	json_incref(b->homes);
	if (!b->base_env)
		b->base_env = json_object();
	if (b->image_env) {
		(void)json_object_update(b->env, b->image_env);
		(void)json_object_update(b->base_env, b->image_env);
	}
	if (!user || !str_copy(b->user, sizeof b->user, str_of(user)) || !*user)
		(void)str_copy(b->user, sizeof b->user, STR_LIT(DEFAULT_USER));
	(void)str_copy(b->workdir, sizeof b->workdir, str_of(workdir ? workdir : ""));
	inherit_start(b, facts);
	b->then_started(b);
}

static void ask_facts(struct build *b)
{
	build_box_helper(b, json_pack("[s]", "facts"), on_facts);
}

static void start_failed(struct build *b, const struct box_result *re)
{
	build_fail(b, "start the sandbox in which it is built: %s", re->text);
}

static void on_settled(void *user, const struct box_result *re)
{
	struct build *b = user;

	fd_close(re->fd);
	if (re->no)
		start_failed(b, re);
	else if (b->fresh && !b->from[0]) /* a saved state is provisioned; an image as fetched is not */
		build_box_helper(b, json_pack("[s]", "provision"), ask_facts);
	else
		ask_facts(b);
}

static void on_started(void *user, const struct box_result *re)
{
	struct build *b = user;
	const struct box_settings s = {
		.template_id = b->row.template_id,
		.text_from_stdout = b->bs->link->opt.text_from_stdout,
		.fd = -1,
		.wait_ms = SETTINGS_WAIT_MS,
	};

	if (re->no)
		start_failed(b, re);
	else
		box_settle(&b->box, &s, "", on_settled, b);
}

/* The limits of the template; the others as for any sandbox. */
static struct msg_limits build_box_limits(const struct build *b)
{
	struct msg_limits l = b->bs->account->defaults;

	l.mem_bytes = b->row.mem_bytes;
	l.disk_bytes = b->row.disk_bytes;
	l.cpu_permille = b->row.cpu_permille;
	l.pids = b->row.pids;
	limits_clip(&l, &b->bs->account->maxima);
	return l;
}

void build_box_start(struct build *b, void (*then)(struct build *b))
{
	const struct box_start s = {
		.template_key = b->base_key,
		.flags = b->from[0] ? START_KEPT
		    : b->fresh      ? START_IMAGE
				    : 0,
		.from = b->from,
		.limits = build_box_limits(b),
		.team = b->row.team,
	};
	char id[ID_SIZE];

	b->then_started = then;
	sandbox_table_make_id(b->bs->sandbox->table, id);
	box_init(&b->box, b->bs->link, id);
	box_start(&b->box, &s, "", on_started, b);
}

/* --- saving -------------------------------------------------------------------------------------------------- */

static void save_failed(struct build *b, const struct box_result *re)
{
	build_fail(b, "save what was built: %s", re->text);
}

static void on_usage(void *user, const struct box_result *re)
{
	struct build *b = user;
	char name[ID_SIZE];

	if (re->usage)
		b->disk_bytes = re->usage->disk_bytes;
	memcpy(name, b->save.name, sizeof name);
	b->then_saved(b, name, b->save.what);
}

/* Reads the usage only now: written data counts once it is on disk, and the snapshot has synced it. */
static void on_thawed(void *user, const struct box_result *re)
{
	struct build *b = user;

	if (re->no)
		save_failed(b, re);
	else
		box_usage(&b->box, on_usage, b);
}

static void on_checkpointed(void *user, const struct box_result *re)
{
	struct build *b = user;

	if (re->no)
		build_log(b, "warn",
		    "[finalize] the memory cannot be saved, so sandboxes run the start command when they are made: %s",
		    re->text);
	else
		b->save.what |= SAVED_MEMORY;
	box_thaw(&b->box, "", on_thawed, b);
}

static void on_snapshotted(void *user, const struct box_result *re)
{
	struct build *b = user;

	if (re->no) {
		save_failed(b, re);
		return;
	}
	b->save.what = SAVED_DISK;
	if (b->save.memory)
		box_checkpoint(&b->box, b->save.name, 0, "", on_checkpointed, b);
	else
		box_thaw(&b->box, "", on_thawed, b);
}

static void on_frozen(void *user, const struct box_result *re)
{
	struct build *b = user;

	if (re->no) {
		save_failed(b, re);
		return;
	}
	b->save.name[0] = 't';
	rand_label(b->save.name + 1, 19);
	box_snapshot(&b->box, b->save.name, "", on_snapshotted, b);
}

/* Continues whether or not init has closed its connections. */
static void on_quiet(void *user, const struct box_result *re)
{
	struct build *b = user;

	(void)re;
	box_freeze(&b->box, "", on_frozen, b);
}

void build_box_save(struct build *b, bool memory, void (*then)(struct build *b, const char *name, uint32_t what))
{
	b->then_saved = then;
	b->save.memory = memory;
	b->save.what = 0;
	if (memory)
		box_quiet(&b->box, QUIET_MS, "", on_quiet, b);
	else
		box_freeze(&b->box, "", on_frozen, b);
}
