/* SPDX-License-Identifier: Apache-2.0 */
/* front/link/box: a handle on one sandbox that the warden holds.
 *
 *	ABSENT --start--> STARTED --settle--> READY --freeze--> FROZEN --thaw--> READY
 *	                                      READY --quiet--> READY
 *	                                      FROZEN --snapshot, checkpoint--> FROZEN
 *	any but ABSENT --kill--> KILLING --box_exited()--> ABSENT
 *
 * A box does one step at a time. Two steps may begin while another is in flight: a kill at any time, and a thaw during
 * a checkpoint, which it calls off. The step that is overtaken still completes, and changes the state no more.
 *
 * Each step completes exactly once, never from inside the call that begins it: with the answer of the warden or of
 * init; or with `exited` from inside box_exited(). After box_done() none completes. If the warden is lost none
 * completes either: the front ends then.
 *
 * A box knows no policy: what follows a step, what is written to the store and who is answered is up to its owner.
 * docs/internals/box.md has the whole picture. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/str.h"
#include "front/link/warden_link.h"
#include "ipc/msg.h"

struct box;
struct box_step;
struct links;
struct policy;

enum box_state {
	BOX_ABSENT,   /* the warden holds no such sandbox: it was not started yet, or has exited */
	BOX_STARTING, /* OP_START is under way */
	BOX_STARTED,  /* it runs; init does not have its settings yet */
	BOX_SETTLING, /* init gets its settings, the start command runs, the interpreters come up */
	BOX_READY,    /* it runs */
	BOX_QUIETING, /* init closes its connections to the outside */
	BOX_FREEZING,
	BOX_FROZEN, /* all of it, or, after a freeze that failed, perhaps a part: it wants to be thawed */
	BOX_SNAPSHOTTING,
	BOX_CHECKPOINTING,
	BOX_RELEASED, /* it runs again; what was read of its memory is still being written */
	BOX_THAWING,
	BOX_KILLING, /* the warden was asked; it is ABSENT once it has exited */
};

/* How far a settle got that failed. */
enum box_part { BOX_PART_NONE, BOX_PART_SETTINGS, BOX_PART_START_CMD, BOX_PART_INTERPRETERS };

struct box_result {
	int no;             /* 0, or an errno value */
	const char *text;   /* why, with no != 0 */
	bool exited;        /* the sandbox has exited during the step; no is ECHILD, but for a kill, which worked */
	bool more;          /* checkpoint with KEEP_THAW: it runs again, and the result is still to come */
	enum box_part part; /* settle, with no != 0 */
	int status;         /* settle: init's answer that refuses its settings; 0: none came */
	/* settle: an idle connection to init, now the receiver's; -1: none */
	int fd;
	const struct msg_image *image; /* checkpoint */
	const struct msg_usage *usage; /* usage */
};

typedef void box_fn(void *user, const struct box_result *re);

LIST_HEAD(box_steps, box_step);

struct box {
	struct links *link;
	char id[ID_SIZE];
	enum box_state state;
	struct box_step *step;  /* that decides about the state; NULL: none is in flight */
	struct box_steps steps; /* all in flight, with those that were overtaken */
};

/* What the warden is to start. Everything is needed during the call only. */
struct box_start {
	const char *template_key;
	uint32_t flags;   /* START_* */
	const char *from; /* what to start from, with START_KEPT or START_RESTORE; else "" */
	struct msg_limits limits;
	const struct policy *policy; /* NULL: none */
	struct str mounts;           /* n_mounts of struct msg_mount */
	uint32_t n_mounts;
};

/* What init is to know, and to wait for. */
struct box_settings {
	const char *template_id;
	json_t *env_vars; /* object, borrowed; NULL: none */
	const char *ca;   /* PEM of an authority that it is to trust; NULL: none */
	bool text_from_stdout;
	int fd;                /* an idle connection to init, owned; -1: a new one is made */
	uint64_t wait_ms;      /* for init to take them */
	uint32_t start_wait_s; /* for the start command of the template; 0: there is none to run */
	uint64_t interps_ms;   /* for the warm interpreters; 0: they are not waited for */
};

/* Makes one that is ABSENT. */
void box_init(struct box *b, struct links *l, const char *id);
/* Takes a sandbox over that the warden holds: after a restart of the front, or from the warm pool. */
void box_adopt(struct box *b, bool frozen);
void box_done(struct box *b); /* the sandbox lives on; what is in flight is not heard of any more */
/* The warden says so. Completes what is in flight with `exited`; a receiver of that only cleans up: it frees no box and
 * begins no step. */
void box_exited(struct box *b);

static inline bool box_present(const struct box *b)
{
	return b->state != BOX_ABSENT;
}

/* The steps; fn may be NULL: nobody wants to know. request: the correlation id for the logs, "": none. */
void box_start(struct box *b, const struct box_start *s, const char *request, box_fn *fn, void *user);
void box_settle(struct box *b, const struct box_settings *s, const char *request, box_fn *fn, void *user);
void box_quiet(struct box *b, uint64_t wait_ms, const char *request, box_fn *fn, void *user);
void box_freeze(struct box *b, const char *request, box_fn *fn, void *user);
void box_snapshot(struct box *b, const char *name, const char *request, box_fn *fn, void *user);
void box_checkpoint(struct box *b, const char *name, uint32_t flags, const char *request, box_fn *fn, void *user);
void box_thaw(struct box *b, const char *request, box_fn *fn, void *user);
void box_kill(struct box *b, const char *request, box_fn *fn, void *user); /* complete when the warden agrees */
void box_usage(struct box *b, box_fn *fn, void *user);                     /* changes no state */

/* No step: any number at any time. The fd of the answer is a stream to init. */
struct warden_call *box_connect(const struct box *b, const char *request, warden_fn *fn, void *user);

const char *box_state_name(enum box_state s);
