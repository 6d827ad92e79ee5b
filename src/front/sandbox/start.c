/* SPDX-License-Identifier: Apache-2.0 */
/* front/sandbox/start: from STARTING to RUNNING: the warden makes it, its init is told who it is. One from the pool is
 * made already and is only told; if it cannot be told, another is made. */
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/log.h"
#include "front/front.h"
#include "front/link/init_call.h"
#include "front/link/warden_link.h"
#include "front/sandbox/impl.h"
#include "front/sandbox/rules.h"
#include "front/sandbox/start_cmd.h"
#include "front/sandbox/warm_pool.h"
#include "front/util/mem.h"
#include "http/json.h"

#define SETTINGS_MAX (2 * 1024 * 1024)
#define POOLED_WAIT_MS 3000 /* there is another way */
#define DEFAULT_USER "user"

/* The sandbox exists (the warden said so), but is of no use. */
static void give_up(struct sandbox *sb, int no, const char *what)
{
	if (sb->state != SANDBOX_STARTING)
		return;
	(void)err_set(&sb->fail, no, "start sandbox: %s", what);
	sandbox_kill(sb, END_FAILED, "start failed");
}

static void start_failed(struct sandbox *sb, const struct init_result *re)
{
	bool refused = re->no == 0;
	const char *why = refused ? "it refused its settings" : re->text;

	if (sb->pooled && sb->state == SANDBOX_STARTING) {
		log_warn("a warm sandbox does not respond, starting another", "id=%s err=%s request=%s", sb->id, why,
		    sb->request);
		sandbox_start_afresh(sb);
		return;
	}
	if (refused)
		log_warn("init refused its settings", "id=%s status=%d", sb->id, re->status);
	give_up(sb, refused ? EPROTO : re->no, why);
}

/* Its template has a start command, and no memory of it running. */
static void on_start_cmd(void *user, int no, const char *text)
{
	struct sandbox *sb = user;

	sb->front->sandbox.starts--;
	if (no)
		give_up(sb, no, text);
	else if (sb->state == SANDBOX_STARTING)
		sandbox_started(sb);
	sandbox_unref(sb);
}

static void on_told(void *user, const struct init_result *re)
{
	struct sandbox *sb = user;
	int fd = re->fd;

	sb->front->sandbox.starts--;
	if (re->no || (re->status != 200 && re->status != 204)) {
		start_failed(sb, re);
	} else if (sb->state == SANDBOX_STARTING && !sb->pooled && (sb->spec.from_what & KEPT_START)) {
		sb->front->sandbox.starts++;
		(void)start_cmd_run(sb->front, sb->id, on_start_cmd, sandbox_ref(sb));
	} else if (sb->state == SANDBOX_STARTING) {
		if (sb->pooled)
			warm_pool_taken(sb->front->sandbox.warm_pool, &sb->spec, true);
		sb->pooled = false;
		sandbox_started(sb);
		if (fd >= 0)
			sandbox_idle_put(sb, take_fd(&fd));
	}
	fd_close(fd);
	sandbox_unref(sb);
}

void sandbox_put_settings(const struct front *f, const char *id, const struct template *tpl, json_t *env_vars,
    const char *ca, struct buf *out)
{
	autojson json_t *j = json_pack("{s:s,s:s,s:s,s:b}", "sandboxId", id, "templateId", tpl->id, "defaultUser",
	    DEFAULT_USER, "textFromStdout", (int)f->link.opt.text_from_stdout);

	(void)json_object_set_new(j, "envVars", env_vars ? json_incref(env_vars) : json_object());
	if (ca && *ca)
		(void)json_object_set_new(j, "caBundle", json_string(ca));
	json_put(out, j);
}

/* ca: an authority that it is to trust; NULL: none */
static void tell(struct sandbox *sb, uint64_t wait_ms, const char *ca, init_call_fn *fn, void *user)
{
	autobuf struct buf body = BUF_INIT(SETTINGS_MAX);

	sandbox_put_settings(sb->front, sb->id, &sb->spec.tpl, sb->spec.env_vars, ca, &body);
	struct init_request rq = {
		.id = sb->id,
		.request = sb->request,
		.method = "POST",
		.path = "/init",
		.body = buf_view(&body),
		.fd = take_fd(&sb->warm_fd),
		.wait_ms = wait_ms,
	};

	(void)init_call_new(&sb->front->link, &rq, fn, user);
}

/* Who is to be told once the rules of its network hold. */
struct telling {
	struct sandbox *sb;
	uint64_t wait_ms;
	init_call_fn *fn;
	void *user;
};

/* What goes into its requests is known, and who signs for the hosts that they go to. */
static void on_ruled(void *user, int no, const char *pem)
{
	struct telling t = *(struct telling *)user;
	struct init_result re = { .no = no ? no : ENOENT,
		.text = no ? "its network rules could not be set" : "it is gone",
		.fd = -1 };

	free(user);
	if (no || sandbox_gone(t.sb))
		t.fn(t.user, &re);
	else
		tell(t.sb, t.wait_ms, pem, t.fn, t.user);
	sandbox_unref(t.sb);
}

void sandbox_tell(struct sandbox *sb, uint64_t wait_ms, init_call_fn *fn, void *user)
{
	if (!spec_has_rules(&sb->spec)) {
		tell(sb, wait_ms, NULL, fn, user);
		return;
	}
	struct telling *t = must_alloc(sizeof *t);

	*t = (struct telling) { sandbox_ref(sb), wait_ms, fn, user };
	rules_push(sb, on_ruled, t);
}

/* What the host lacks is nobody's request: no 404 because a file of ours is gone. EINVAL is: a volume's place, for
 * one. */
static int fault_of(int no)
{
	return no == ENOENT || no == EPERM || no == EEXIST ? EIO : no;
}

static void on_made(void *user, const struct warden_reply *re)
{
	struct sandbox *sb = user;

	if (re->no && sb->state == SANDBOX_STARTING) {
		(void)err_set(&sb->fail, fault_of(re->no), "start sandbox: %s", re->text);
		sandbox_exited(sb, END_FAILED, "start failed");
	}
	if (sandbox_gone(sb)) {
		sb->front->sandbox.starts--;
		sandbox_unref(sb);
		return;
	}
	sandbox_tell(sb, SANDBOX_TELL_MS, on_told, sb);
}

void sandbox_ask_start(struct sandbox *sb, uint32_t flags, const char from[ID_SIZE], warden_fn *fn, void *user)
{
	struct msg_start m = { .limits = sandbox_limits_to_send(sb, &sb->spec.limits), .flags = flags };
	autobuf struct buf msg = BUF_INIT(MSG_MAX), mounts = BUF_INIT(MSG_MAX);

	memcpy(m.id, sb->id, sizeof m.id);
	(void)str_copy(m.template_key, sizeof m.template_key, str_of(sb->spec.tpl.key));
	memcpy(m.request, sb->request, sizeof m.request);
	if (flags)
		memcpy(m.from, from, sizeof m.from);
	if (sb->spec.flags & SPEC_NO_INTERNET)
		m.flags |= START_NO_INTERNET;
	m.n_mounts = spec_put_mounts(&sb->spec, &mounts);
	warden_compose(&msg, &m, sizeof m, offsetof(struct msg_start, n_policy), sb->spec.policy);
	buf_str(&msg, buf_view(&mounts));
	if (msg.bad || mounts.bad)
		abort(); /* as warden_compose() */
	(void)warden_ask(sb->front->link.warden, OP_START, msg.p, msg.n, fn, user);
}

void sandbox_start(struct sandbox *sb)
{
	sb->front->sandbox.starts++;
	sandbox_ref(sb);
	if (sb->pooled) {
		log_info("taken from the warm pool", "id=%s template=%s request=%s", sb->id, sb->spec.tpl.name,
		    sb->request);
		sandbox_tell(sb, POOLED_WAIT_MS, on_told, sb);
		return;
	}
	warm_pool_make_room(sb->front->sandbox.warm_pool);
	uint32_t how = !sb->spec.from[0] ? 0 : sb->spec.from_what & KEPT_MEMORY ? START_RESTORE : START_KEPT;

	sandbox_ask_start(sb, how, sb->spec.from, on_made, sb);
}
