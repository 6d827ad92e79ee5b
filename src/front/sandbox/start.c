/* SPDX-License-Identifier: Apache-2.0 */
/* front/sandbox/start: from STARTING to RUNNING: the warden starts the box, init takes its settings. A sandbox
 * from the warm pool is already started and only settled; if that fails, another one is started cold. */
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/log.h"
#include "front/front.h"
#include "front/sandbox/impl.h"
#include "front/sandbox/rules.h"
#include "front/sandbox/warm_pool.h"
#include "front/util/mem.h"

#define WARM_WAIT_MS 3000    /* short, because a cold start is the alternative */
#define START_WAIT_MAX_S 50u /* clients wait one minute for an answer */

uint32_t sandbox_start_wait_s(const struct front *f)
{
	uint32_t wait_s = f->link.opt.ready_timeout_s;

	return wait_s < START_WAIT_MAX_S ? wait_s : START_WAIT_MAX_S;
}

/* --- steps of the box ---------------------------------------------------------------------------------------- */

void sandbox_box_start(struct sandbox *sb, uint32_t flags, const char from[ID_SIZE], box_fn *fn, void *user)
{
	autobuf struct buf mounts = BUF_INIT(MSG_MAX);
	struct box_start s = {
		.template_key = sb->spec.tpl.key,
		.flags = flags | (sb->spec.flags & SPEC_NO_INTERNET ? START_NO_INTERNET : 0),
		.from = flags ? from : "",
		.limits = sandbox_limits_to_send(sb, &sb->spec.limits),
		.policy = sb->spec.policy,
		.n_mounts = spec_put_mounts(&sb->spec, &mounts),
	};

	if (mounts.bad)
		abort(); /* out of memory, as in warden_compose() */
	s.mounts = buf_view(&mounts);
	box_start(&sb->box, &s, sb->request, fn, user);
}

/* A settle that waits until atoll-egress has the network rules. */
struct ruling {
	struct sandbox *sb;
	uint64_t wait_ms;
	uint32_t start_wait_s;
	box_fn *fn;
	void *user;
};

/* ca: an authority that the sandbox has to trust; NULL: none */
static void settle(const struct ruling *r, const char *ca)
{
	struct sandbox *sb = r->sb;
	const struct box_settings s = {
		.template_id = sb->spec.tpl.id,
		.env_vars = sb->spec.env_vars,
		.ca = ca,
		.text_from_stdout = sb->front->link.opt.text_from_stdout,
		.fd = take_fd(&sb->warm_fd),
		.wait_ms = r->wait_ms,
		.start_wait_s = r->start_wait_s,
	};

	box_settle(&sb->box, &s, sb->request, r->fn, r->user);
}

/* atoll-egress has the rules; pem is the authority that signs for the hosts that they match. Meanwhile the sandbox
 * may have exited or have been started again. */
static void on_ruled(void *user, int no, const char *pem)
{
	struct ruling r = *(struct ruling *)user;
	bool stale = r.sb->ruling != user || sandbox_gone(r.sb);
	const struct box_result re = { .no = stale ? ECHILD : no,
		.text = stale ? "it is gone" : "its network rules could not be set",
		.exited = stale,
		.fd = -1 };

	if (r.sb->ruling == user)
		r.sb->ruling = NULL;
	free(user);
	if (no || stale)
		r.fn(r.user, &re);
	else
		settle(&r, pem);
	sandbox_unref(r.sb);
}

void sandbox_settle(struct sandbox *sb, uint64_t wait_ms, uint32_t start_wait_s, box_fn *fn, void *user)
{
	const struct ruling now = { sb, wait_ms, start_wait_s, fn, user };

	if (!spec_has_rules(&sb->spec)) {
		settle(&now, NULL);
		return;
	}
	struct ruling *r = must_alloc(sizeof *r);

	*r = now;
	(void)sandbox_ref(sb);
	sb->ruling = r;
	rules_push(sb, on_ruled, r);
}

/* --- the start ----------------------------------------------------------------------------------------------- */

/* Drops the caller's reference. */
static void start_over(struct sandbox *sb)
{
	sb->front->sandbox.starts--;
	sandbox_unref(sb);
}

/* The box was started, but could not be settled. */
static void start_failed(struct sandbox *sb, const struct box_result *re)
{
	if (sandbox_is_warm(sb)) {
		log_warn("a warm sandbox does not respond, starting another", "id=%s err=%s request=%s", sb->id,
		    re->text, sb->request);
		sandbox_start_afresh(sb);
		return;
	}
	if (re->status)
		log_warn("init refused its settings", "id=%s status=%d", sb->id, re->status);
	(void)err_set(&sb->fail, re->no, "start sandbox: %s", re->text);
	sandbox_kill(sb, END_FAILED, "start failed");
}

static void on_settled(void *user, const struct box_result *re)
{
	struct sandbox *sb = user;
	int fd = re->fd;

	if (sb->state != SANDBOX_STARTING || re->exited) {
		fd_close(fd);
	} else if (re->no) {
		start_failed(sb, re);
	} else {
		if (sandbox_is_warm(sb))
			warm_pool_taken(sb->front->sandbox.warm_pool, &sb->spec, true);
		sandbox_started(sb);
		if (fd >= 0)
			sandbox_idle_put(sb, fd);
	}
	start_over(sb);
}

/* Errors of the host are not the client's fault: a missing file of the server must not become a 404. EINVAL is the
 * client's, for example an invalid mount path. */
static int fault_of(int no)
{
	return no == ENOENT || no == EPERM || no == EEXIST ? EIO : no;
}

static void on_started(void *user, const struct box_result *re)
{
	struct sandbox *sb = user;

	if (sb->state != SANDBOX_STARTING || re->exited) {
		start_over(sb);
	} else if (re->no) {
		(void)err_set(&sb->fail, fault_of(re->no), "start sandbox: %s", re->text);
		sandbox_exited(sb, END_FAILED, "start failed");
		start_over(sb);
	} else {
		sandbox_settle(sb, SANDBOX_SETTLE_MS,
		    sb->spec.from_what & SAVED_START ? sandbox_start_wait_s(sb->front) : 0, on_settled, sb);
	}
}

void sandbox_start_warm(struct sandbox *sb)
{
	sb->front->sandbox.starts++;
	log_info("taken from the warm pool", "id=%s template=%s request=%s", sb->id, sb->spec.tpl.name, sb->request);
	sandbox_settle(sb, WARM_WAIT_MS, 0, on_settled, sandbox_ref(sb));
}

void sandbox_start_cold(struct sandbox *sb)
{
	uint32_t how = !sb->spec.from[0] ? 0 : sb->spec.from_what & SAVED_MEMORY ? START_RESTORE : START_KEPT;

	sb->front->sandbox.starts++;
	warm_pool_make_room(sb->front->sandbox.warm_pool);
	sandbox_box_start(sb, how, sb->spec.from, on_started, sandbox_ref(sb));
}
