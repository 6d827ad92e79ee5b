/* SPDX-License-Identifier: Apache-2.0 */
/* front/sandbox/save: quiet, freeze, snapshot the disk, checkpoint the memory, thaw. */
#include "front/sandbox/save.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/rand.h"
#include "front/link/saved.h"
#include "front/sandbox/sandbox.h"
#include "front/sandbox/sandboxes.h"
#include "front/sandbox/state.h"
#include "front/util/mem.h"

#define QUIET_MS 1000

struct save {
	struct sandbox *sb;
	enum save_memory memory;
	bool brief;
	/* the checkpoint failed with EAGAIN: thaw, and begin once more */
	bool again;
	bool tried;    /* the second attempt was made */
	bool released; /* the sandbox runs again while its memory is still being written */
	struct save_result re;
	save_fn *fn;
	void *user;
};

/* exited: sandbox_box_exited() takes care of the sandbox. */
static void finish(struct save *s, bool exited)
{
	if (s->re.e.no && s->re.name[0]) /* may be incomplete */
		saved_delete(s->sb->all->link, s->re.name);
	if (!exited)
		sandbox_save_over(s->sb);
	s->fn(s->user, &s->re);
	sandbox_unref(s->sb);
	free(s);
}

/* Returns true and frees s if the sandbox has exited or was killed. */
static bool is_over(struct save *s, const struct box_result *re)
{
	if (!re->exited && (s->sb->state == SANDBOX_SAVING || s->released))
		return false;
	if (s->released)
		(void)err_set(&s->re.e, ECANCELED, "sandbox '%s' has ended before all was written", s->sb->id);
	else if (!s->re.e.no)
		(void)err_set(&s->re.e, ENOENT, "sandbox '%s' has ended", s->sb->id);
	finish(s, re->exited);
	return true;
}

static void begin(struct save *s);

static void begin_again(struct save *s)
{
	saved_delete(s->sb->all->link, s->re.name);
	memset(&s->re, 0, sizeof s->re);
	s->again = s->released = false;
	begin(s);
}

static void on_thawed(void *user, const struct box_result *re)
{
	struct save *s = user;

	if (is_over(s, re))
		return;
	if (re->no)
		log_error("could not thaw a sandbox after its snapshot", "id=%s err=%s", s->sb->id, re->text);
	if (s->again && !re->no)
		begin_again(s);
	else
		finish(s, false);
}

static void thaw(struct save *s)
{
	box_thaw(&s->sb->box, s->sb->request, on_thawed, s);
}

static void fail(struct save *s, const struct box_result *re)
{
	(void)err_set(&s->re.e, re->no, "%s", re->text);
	thaw(s);
}

static void on_released(struct save *s)
{
	s->released = true;
	if (s->sb->state == SANDBOX_SAVING)
		sandbox_set_state(s->sb, SANDBOX_RUNNING);
}

static void on_checkpointed(void *user, const struct box_result *re)
{
	struct save *s = user;

	if (re->more) {
		on_released(s);
		return;
	}
	if (is_over(s, re))
		return;
	if (re->no == EAGAIN && !s->tried && (!s->released || s->sb->state == SANDBOX_RUNNING)) {
		log_info("could not freeze a sandbox, retrying once", "id=%s err=%s", s->sb->id, re->text);
		s->again = s->tried = true;
	} else if (re->no) { /* the caller asked for memory: a disk alone is no substitute */
		(void)err_set(&s->re.e, re->no, "%s", re->text);
	} else {
		s->re.what |= SAVED_MEMORY;
	}
	if (s->again && s->released) {
		sandbox_set_state(s->sb, SANDBOX_SAVING);
		begin_again(s);
	} else if (s->released) {
		finish(s, false);
	} else {
		thaw(s);
	}
}

bool sandbox_can_checkpoint(const struct sandbox *sb)
{
	return spec_engine(&sb->spec) == ENGINE_NAMESPACES && sb->all->can_checkpoint;
}

static bool wants_memory(const struct save *s)
{
	return s->memory == SAVE_MEMORY || (s->memory == SAVE_MEMORY_IF_POSSIBLE && sandbox_can_checkpoint(s->sb));
}

static void on_snapshotted(void *user, const struct box_result *re)
{
	struct save *s = user;

	if (!re->no)
		s->re.what = SAVED_DISK;
	if (is_over(s, re))
		return;
	if (re->no)
		fail(s, re);
	else if (wants_memory(s))
		box_checkpoint(&s->sb->box, s->re.name, KEEP_THAW | (s->brief ? KEEP_BRIEF : 0), s->sb->request,
		    on_checkpointed, s);
	else
		thaw(s);
}

static void on_frozen(void *user, const struct box_result *re)
{
	struct save *s = user;

	if (is_over(s, re))
		return;
	if (re->no) {
		fail(s, re);
		return;
	}
	s->re.name[0] = 'k';
	rand_label(s->re.name + 1, 19);
	box_snapshot(&s->sb->box, s->re.name, s->sb->request, on_snapshotted, s);
}

/* Freezes whether or not init has closed its connections. */
static void on_quiet(void *user, const struct box_result *re)
{
	struct save *s = user;

	if (!is_over(s, re))
		box_freeze(&s->sb->box, s->sb->request, on_frozen, s);
}

static void begin(struct save *s)
{
	box_quiet(&s->sb->box, QUIET_MS, s->sb->request, on_quiet, s);
}

void sandbox_save(struct sandbox *sb, enum save_memory memory, bool brief, save_fn *fn, void *user)
{
	struct save *s = must_alloc(sizeof *s);

	*s = (struct save) { .sb = sandbox_ref(sb), .memory = memory, .brief = brief, .fn = fn, .user = user };
	sandbox_set_state(sb, SANDBOX_SAVING);
	begin(s);
}
