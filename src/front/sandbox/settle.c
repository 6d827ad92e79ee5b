/* SPDX-License-Identifier: Apache-2.0 */
/* front/sandbox/settle: the box of a sandbox from its spec, and its settings once atoll-egress has the rules. */
#include "front/sandbox/settle.h"

#include <stdlib.h>

#include "base/buf.h"
#include "base/fd.h"
#include "front/account/accounts.h"
#include "front/account/limits.h"
#include "front/link/links.h"
#include "front/sandbox/rules.h"
#include "front/sandbox/sandbox.h"
#include "front/sandbox/sandboxes.h"
#include "front/util/mem.h"

#define START_WAIT_MAX_S 50u /* clients wait one minute for an answer */

uint32_t sandbox_start_wait_s(const struct sandboxes *all)
{
	uint32_t wait_s = all->link->opt.ready_timeout_s;

	return wait_s < START_WAIT_MAX_S ? wait_s : START_WAIT_MAX_S;
}

/* The warden counts egress since the last start, but the limit is for all runs. */
struct msg_limits sandbox_limits_to_send(const struct sandbox *sb, const struct msg_limits *l)
{
	struct msg_limits to = *l;

	if (to.egress_bytes)
		to.egress_bytes = to.egress_bytes > sb->sent_before ? to.egress_bytes - sb->sent_before : 1;
	limits_clip(&to, &sb->all->account->maxima);
	return to;
}

void sandbox_box_start(struct sandbox *sb, uint32_t flags, const char from[ID_SIZE], box_fn *fn, void *user)
{
	autobuf struct buf mounts = BUF_INIT(MSG_MAX);
	struct box_start s = {
		.template_key = sb->spec.tpl.key,
		.engine = spec_engine(&sb->spec),
		.flags = flags | (sb->spec.flags & SPEC_NO_INTERNET ? START_NO_INTERNET : 0) |
		    (spec_needs(&sb->spec) & ENGINE_NEEDS_DOCKER ? START_DOCKER : 0) |
		    (spec_needs(&sb->spec) & ENGINE_NEEDS_FUSE ? START_FUSE : 0),
		.from = flags ? from : "",
		.limits = sandbox_limits_to_send(sb, &sb->spec.limits),
		.policy = sb->spec.policy,
		.n_mounts = spec_put_mounts(&sb->spec, &mounts),
		.team = sb->team,
		.key = sb->key,
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
		.text_from_stdout = sb->all->link->opt.text_from_stdout,
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
