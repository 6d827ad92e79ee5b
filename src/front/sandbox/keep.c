/* SPDX-License-Identifier: Apache-2.0 */
/* front/sandbox/keep: quiet, freeze, keep the disk, keep the memory, thaw. */
#include "front/sandbox/keep.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/rand.h"
#include "front/front.h"
#include "front/link/forget.h"
#include "front/sandbox/impl.h"
#include "front/util/mem.h"

#define QUIET_MS 1000

struct keep {
	struct sandbox *sb;
	enum keep_memory memory;
	bool brief;
	/* it could not be stopped where it was: it runs for a moment, and is frozen once more */
	bool again;
	bool tried;    /* ... which was done */
	bool released; /* it runs again; what is kept is still being written */
	struct keep_result re;
	keep_fn *fn;
	void *user;
};

static void finish(struct keep *k)
{
	if (k->re.e.no && k->re.name[0]) /* in part, perhaps */
		forget_kept(&k->sb->front->link, k->re.name);
	sandbox_was_kept(k->sb);
	k->fn(k->user, &k->re);
	sandbox_unref(k->sb);
	free(k);
}

/* Its end, or a kill. */
static bool is_over(struct keep *k)
{
	if (k->sb->state == SANDBOX_KEEPING || k->released)
		return false;
	if (!k->re.e.no)
		(void)err_set(&k->re.e, ENOENT, "sandbox '%s' has ended", k->sb->id);
	finish(k);
	return true;
}

static void begin(struct keep *k);

static void begin_again(struct keep *k)
{
	forget_kept(&k->sb->front->link, k->re.name);
	memset(&k->re, 0, sizeof k->re);
	k->again = k->released = false;
	begin(k);
}

static void on_thawed(void *user, const struct warden_reply *re)
{
	struct keep *k = user;

	if (is_over(k))
		return;
	if (re->no)
		log_error("could not thaw a sandbox after its snapshot", "id=%s err=%s", k->sb->id, re->text);
	if (k->again && !re->no)
		begin_again(k);
	else
		finish(k);
}

static void thaw(struct keep *k)
{
	(void)warden_ask_id(k->sb->front->link.warden, OP_THAW, k->sb->id, k->sb->request, on_thawed, k);
}

static void fail(struct keep *k, const struct warden_reply *re)
{
	(void)err_set(&k->re.e, re->no, "%s", re->text);
	thaw(k);
}

static void on_memory(void *user, const struct warden_reply *re)
{
	struct keep *k = user;

	if (re->more) {
		k->released = true;
		if (k->sb->state == SANDBOX_KEEPING)
			sandbox_set_state(k->sb, SANDBOX_RUNNING);
		return;
	}
	if (is_over(k))
		return;
	if (re->no == EAGAIN && !k->tried && (!k->released || k->sb->state == SANDBOX_RUNNING)) {
		log_info("could not freeze a sandbox, retrying once", "id=%s err=%s", k->sb->id, re->text);
		k->again = k->tried = true;
	} else if (re->no) { /* whoever asked for it must not take a disk for it */
		(void)err_set(&k->re.e, re->no, "%s", re->text);
	} else {
		k->re.what |= KEPT_MEMORY;
	}
	if (k->again && k->released) {
		sandbox_set_state(k->sb, SANDBOX_KEEPING);
		begin_again(k);
	} else if (k->released) {
		finish(k);
	} else {
		thaw(k);
	}
}

static void ask_keep(struct keep *k, enum msg_type op, warden_fn *fn)
{
	struct msg_keep m = { 0 };

	memcpy(m.id, k->sb->id, sizeof m.id);
	memcpy(m.name, k->re.name, sizeof m.name);
	memcpy(m.request, k->sb->request, sizeof m.request);
	if (op == OP_CHECKPOINT)
		m.flags = KEEP_THAW | (k->brief ? KEEP_BRIEF : 0);
	(void)warden_ask(k->sb->front->link.warden, op, &m, sizeof m, fn, k);
}

static void on_disk(void *user, const struct warden_reply *re)
{
	struct keep *k = user;

	if (!re->no)
		k->re.what = KEPT_DISK;
	if (is_over(k))
		return;
	if (re->no)
		fail(k, re);
	else if (k->memory == KEEP_MEMORY_NEEDED ||
	    (k->memory == KEEP_MEMORY_IF && k->sb->front->sandbox.can_checkpoint))
		ask_keep(k, OP_CHECKPOINT, on_memory);
	else
		thaw(k);
}

static void on_frozen(void *user, const struct warden_reply *re)
{
	struct keep *k = user;

	if (is_over(k))
		return;
	if (re->no) {
		fail(k, re);
		return;
	}
	k->re.name[0] = 'k';
	rand_label(k->re.name + 1, 19);
	ask_keep(k, OP_SNAPSHOT, on_disk);
}

static void on_quiet(void *user, const struct init_result *re)
{
	struct keep *k = user;

	(void)re;
	if (!is_over(k))
		(void)warden_ask_id(k->sb->front->link.warden, OP_FREEZE, k->sb->id, k->sb->request, on_frozen, k);
}

static void begin(struct keep *k)
{
	struct init_request rq = {
		.id = k->sb->id,
		.request = k->sb->request,
		.method = "POST",
		.path = "/atoll/quiet",
		.fd = -1,
		.wait_ms = QUIET_MS,
	};

	(void)init_call_new(&k->sb->front->link, &rq, on_quiet, k);
}

void sandbox_keep(struct sandbox *sb, enum keep_memory memory, bool brief, keep_fn *fn, void *user)
{
	struct keep *k = must_alloc(sizeof *k);

	*k = (struct keep) { .sb = sandbox_ref(sb), .memory = memory, .brief = brief, .fn = fn, .user = user };
	sb->being_kept = true;
	sandbox_set_state(sb, SANDBOX_KEEPING);
	begin(k);
}
