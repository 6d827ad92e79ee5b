/* SPDX-License-Identifier: Apache-2.0 */
/* front/template/build_box: the sandbox of a build: started like any other, told the defaults, asked what is in it;
 * kept while it is frozen. */
#include <errno.h>
#include <string.h>

#include "base/fd.h"
#include "base/rand.h"
#include "front/account/limits.h"
#include "front/front.h"
#include "front/link/forget.h"
#include "front/link/init_build.h"
#include "front/link/init_call.h"
#include "front/link/init_put.h"
#include "front/link/warden_link.h"
#include "front/sandbox/sandbox.h"
#include "front/template/build_impl.h"
#include "front/util/mem.h"
#include "http/json.h"

/* init is there when the warden says so; it may have to be read from a busy disk first */
#define SETTINGS_WAIT_MS 60000
#define HELPER_WAIT_MS 600000
#define QUIET_MS 2000
#define BODY_MAX 4096
#define DEFAULT_USER "user"

static void ignore_reply(void *user, const struct warden_reply *re)
{
	(void)user;
	(void)re;
}

void build_box_end(struct build *b)
{
	warden_cancel(b->asked);
	init_call_free(b->call);
	init_run_free(b->run);
	init_run_free(b->start_run);
	init_build_free(b->helper);
	b->helper = NULL;
	init_put_free(b->put);
	b->asked = NULL;
	b->call = NULL;
	b->run = b->start_run = NULL;
	b->put = NULL;
	if (b->has_box)
		(void)warden_ask_id(b->front->link.warden, OP_KILL, b->box, "", ignore_reply, NULL);
	if (b->keep_name[0]) /* half kept, or kept and not noted */
		forget_kept(&b->front->link, b->keep_name);
	b->has_box = false;
	b->keep_name[0] = '\0';
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

/* --- the helper inside --------------------------------------------------------------------------------------- */

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
	b->helper = init_build_new(&b->front->link, b->box, args, HELPER_WAIT_MS, on_helped, b);
}

/* --- its start ----------------------------------------------------------------------------------------------- */

static const char *fact(const json_t *facts, const char *name, const char *otherwise)
{
	const char *v = json_string_value(json_object_get(facts, name));

	return v ? v : otherwise;
}

/* The commands of the template that it is based on, unless it has its own. */
static void inherit_start(struct build *b, json_t *facts)
{
	const char *start = json_string_value(json_object_get(facts, "startCmd"));
	const char *ready = json_string_value(json_object_get(facts, "readyCmd"));

	if (!start || *b->spec.start_cmd)
		return;
	b->start.inherited = str_copy(b->start.user, sizeof b->start.user, str_of(fact(facts, "startUser", b->user))) &&
	    str_copy(b->start.workdir, sizeof b->start.workdir, str_of(fact(facts, "startWorkdir", b->workdir)));
	(void)json_object_set(b->spec.body, "atoll facts", facts); /* they live as long as what the client sent */
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

static void on_settled(void *user, const struct init_result *re)
{
	struct build *b = user;

	b->call = NULL;
	fd_close(re->fd);
	if (re->no || re->status != 204)
		build_fail(b, "start the sandbox in which it is built: %s", re->no ? re->text : "its init refuses");
	else if (b->fresh &&
	    !b->from[0]) /* whatever is kept of it has been through this; steps without a layer have not */
		build_box_helper(b, json_pack("[s]", "provision"), ask_facts);
	else
		ask_facts(b);
}

static void on_made(void *user, const struct warden_reply *re)
{
	struct build *b = user;
	autobuf struct buf body = BUF_INIT(BODY_MAX);
	struct template tpl = { 0 };

	b->asked = NULL;
	if (re->no) {
		b->has_box = false;
		build_fail(b, "start the sandbox in which it is built: %s", re->text);
		return;
	}
	memcpy(tpl.id, b->row.template_id, sizeof b->row.template_id);
	sandbox_put_settings(b->front, b->box, &tpl, NULL, NULL, &body);
	struct init_request rq = {
		.id = b->box,
		.request = "",
		.method = "POST",
		.path = "/init",
		.body = buf_view(&body),
		.fd = -1,
		.wait_ms = SETTINGS_WAIT_MS,
	};

	b->call = init_call_new(&b->front->link, &rq, on_settled, b);
}

/* Those of the template, and what else sandboxes get. */
static struct msg_limits build_box_limits(const struct build *b)
{
	struct msg_limits l = b->front->account.defaults;

	l.mem_bytes = b->row.mem_bytes;
	l.disk_bytes = b->row.disk_bytes;
	l.cpu_permille = b->row.cpu_permille;
	l.pids = b->row.pids;
	limits_clip(&l, &b->front->account.maxima);
	return l;
}

void build_box_start(struct build *b, void (*then)(struct build *b))
{
	struct msg_start m = {
		.flags = b->from[0] ? START_KEPT
		    : b->fresh      ? START_IMAGE
				    : 0,
		.limits = build_box_limits(b),
	};

	b->then_started = then;
	sandbox_make_id(b->front, b->box);
	b->has_box = true;
	memcpy(m.id, b->box, sizeof m.id);
	memcpy(m.template_key, b->base_key, sizeof m.template_key);
	memcpy(m.from, b->from, sizeof m.from);
	b->asked = warden_ask(b->front->link.warden, OP_START, &m, sizeof m, on_made, b);
}

/* --- keeping it ---------------------------------------------------------------------------------------------- */

static void keep_failed(struct build *b, const struct warden_reply *re)
{
	build_fail(b, "keep what was built: %s", re->text);
}

static void on_usage(void *user, const struct warden_reply *re)
{
	struct build *b = user;
	char name[ID_SIZE];

	b->asked = NULL;
	if (re->no == 0 && re->msg->type == RE_USAGE)
		b->disk_bytes = ((const struct msg_usage *)re->msg)->disk_bytes;
	memcpy(name, b->keep_name, sizeof name);
	b->then_kept(b, name, b->keep_what);
}

/* Not before: what was just written is counted when it is on the disk, where the snapshot has brought it. */
static void on_thawed(void *user, const struct warden_reply *re)
{
	struct build *b = user;

	b->asked = NULL;
	if (re->no)
		keep_failed(b, re);
	else
		b->asked = warden_ask_id(b->front->link.warden, OP_USAGE, b->box, "", on_usage, b);
}

static void thaw(struct build *b)
{
	b->asked = warden_ask_id(b->front->link.warden, OP_THAW, b->box, "", on_thawed, b);
}

static void on_memory(void *user, const struct warden_reply *re)
{
	struct build *b = user;

	if (re->more)
		return;
	b->asked = NULL;
	if (re->no)
		build_log(b, "warn",
		    "[finalize] the memory cannot be kept, so sandboxes run the start command when they are made: %s",
		    re->text);
	else
		b->keep_what |= KEPT_MEMORY;
	thaw(b);
}

static void ask_keep(struct build *b, enum msg_type op, void (*fn)(void *user, const struct warden_reply *re))
{
	struct msg_keep m = { 0 };

	memcpy(m.id, b->box, sizeof m.id);
	memcpy(m.name, b->keep_name, sizeof m.name);
	b->asked = warden_ask(b->front->link.warden, op, &m, sizeof m, fn, b);
}

static void on_disk(void *user, const struct warden_reply *re)
{
	struct build *b = user;

	b->asked = NULL;
	if (re->no) {
		keep_failed(b, re);
		return;
	}
	b->keep_what = KEPT_DISK;
	if (b->keep_memory)
		ask_keep(b, OP_CHECKPOINT, on_memory);
	else
		thaw(b);
}

static void on_frozen(void *user, const struct warden_reply *re)
{
	struct build *b = user;

	b->asked = NULL;
	if (re->no) {
		keep_failed(b, re);
		return;
	}
	b->keep_name[0] = 't';
	rand_label(b->keep_name + 1, 19);
	ask_keep(b, OP_SNAPSHOT, on_disk);
}

static void freeze(struct build *b)
{
	b->asked = warden_ask_id(b->front->link.warden, OP_FREEZE, b->box, "", on_frozen, b);
}

static void on_quiet(void *user, const struct init_result *re)
{
	struct build *b = user;

	b->call = NULL;
	fd_close(re->fd);
	freeze(b);
}

void build_box_keep(struct build *b, bool memory, void (*then)(struct build *b, const char *name, uint32_t what))
{
	struct init_request rq = { .id = b->box,
		.request = "",
		.method = "POST",
		.path = "/atoll/quiet",
		.fd = -1,
		.wait_ms = QUIET_MS };

	b->then_kept = then;
	b->keep_memory = memory;
	b->keep_what = 0;
	if (memory)
		b->call = init_call_new(&b->front->link, &rq, on_quiet, b);
	else
		freeze(b);
}
