/* SPDX-License-Identifier: Apache-2.0 */
/* front/link/box: a handle on one sandbox that the warden holds.
 *
 *	ABSENT --start--> STARTED --settle--> READY --freeze--> FROZEN --thaw--> READY
 *	                                      READY --quiet--> READY
 *	                                      FROZEN --snapshot, checkpoint--> FROZEN
 *	any but ABSENT --kill--> KILLING --box_exited()--> ABSENT
 *
 * A box does one step at a time. Two steps may begin while another is in flight: a kill at any time, and a thaw
 * during a checkpoint, which it cancels. The overtaken step still completes, but no longer changes the state.
 *
 * Each step completes exactly once, never from inside the call that begins it: with the answer of the warden or of
 * init, or with `exited` from inside box_exited(). After box_done() no step completes. If the warden is lost, no
 * step completes either, because the front exits.
 *
 * A box has no policy: its owner decides what follows a step, what is written to the store and which client gets
 * an answer. docs/internals/box.md describes it in full. */
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
	BOX_STARTING, /* OP_START is in progress, or waits for its turn */
	BOX_STARTED,  /* it runs; init does not have its settings yet */
	BOX_SETTLING, /* init takes its settings, the start command runs, the interpreters start */
	BOX_READY,    /* it runs */
	BOX_QUIETING, /* init closes its connections to the outside */
	BOX_FREEZING,
	BOX_FROZEN, /* fully; or, after a failed freeze, perhaps in part: it has to be thawed */
	BOX_SNAPSHOTTING,
	BOX_CHECKPOINTING,
	BOX_RELEASED, /* it runs again while its memory is still being written */
	BOX_THAWING,
	BOX_KILLING, /* the warden was asked; ABSENT after the exit */
};

/* The part at which a settle failed. */
enum box_part { BOX_PART_NONE, BOX_PART_SETTINGS, BOX_PART_START_CMD, BOX_PART_INTERPRETERS };

struct box_result {
	int no;             /* 0, or an errno value */
	const char *text;   /* message, if no != 0 */
	bool exited;        /* the sandbox has exited during the step; no is ECHILD, or 0 for a kill */
	bool more;          /* checkpoint with KEEP_THAW: the sandbox runs again, the final result follows */
	enum box_part part; /* settle, with no != 0 */
	int status;         /* settle: HTTP status with which init refused its settings; 0: no such answer */
	/* settle: an idle connection to init, now owned by the receiver; -1: none */
	int fd;
	const struct msg_image *image; /* checkpoint only */
	const struct msg_usage *usage; /* usage only */
};

typedef void box_fn(void *user, const struct box_result *re);

LIST_HEAD(box_steps, box_step);

struct box {
	struct links *link;
	char id[ID_SIZE];
	enum box_state state;
	struct box_step *step;  /* the step that determines the state; NULL: none in flight */
	struct box_steps steps; /* all steps in flight, including overtaken ones */
};

/* What the warden has to start. All pointers are needed during the call only. */
struct box_start {
	const char *template_key;
	uint32_t engine;  /* enum engine_kind */
	uint32_t flags;   /* START_* */
	const char *from; /* name of the saved state, with START_KEPT or START_RESTORE; else "" */
	struct msg_limits limits;
	const struct policy *policy; /* NULL: none */
	struct str mounts;           /* n_mounts of struct msg_mount */
	uint32_t n_mounts;
	/* whose turn it is when starts wait, see front/link/start_queue.h; team NULL: no client waits for it */
	const char *team, *key;
};

/* Settings for init, and what to wait for. */
struct box_settings {
	const char *template_id;
	json_t *env_vars; /* object, borrowed; NULL: none */
	const char *ca;   /* PEM of an authority that the sandbox has to trust; NULL: none */
	bool text_from_stdout;
	int fd;                /* an idle connection to init, owned; -1: a new one is made */
	uint64_t wait_ms;      /* time limit for init to take the settings */
	uint32_t start_wait_s; /* time limit for the start command of the template; 0: none to run */
	uint64_t interps_ms;   /* time limit for the warm interpreters; 0: do not wait for them */
};

/* Initialises a box in state ABSENT. */
void box_init(struct box *b, struct links *l, const char *id);
/* Adopts a sandbox that the warden already holds: after a restart of the front, or from the warm pool. */
void box_adopt(struct box *b, bool frozen);
void box_done(struct box *b); /* does not kill the sandbox; steps in flight no longer complete */
/* To be called when the warden reports the exit. Completes the steps in flight with `exited`. Their callbacks must
 * only clean up: they must not free a box or begin a step. */
void box_exited(struct box *b);

static inline bool box_present(const struct box *b)
{
	return b->state != BOX_ABSENT;
}

/* The steps. fn may be NULL. request: the correlation id for the logs, "": none. */
void box_start(struct box *b, const struct box_start *s, const char *request, box_fn *fn, void *user);
void box_settle(struct box *b, const struct box_settings *s, const char *request, box_fn *fn, void *user);
void box_quiet(struct box *b, uint64_t wait_ms, const char *request, box_fn *fn, void *user);
void box_freeze(struct box *b, const char *request, box_fn *fn, void *user);
void box_snapshot(struct box *b, const char *name, const char *request, box_fn *fn, void *user);
void box_checkpoint(struct box *b, const char *name, uint32_t flags, const char *request, box_fn *fn, void *user);
void box_thaw(struct box *b, const char *request, box_fn *fn, void *user);
void box_kill(struct box *b, const char *request, box_fn *fn, void *user); /* completes when the warden has confirmed */
void box_usage(struct box *b, box_fn *fn, void *user);                     /* does not change the state */

/* Not a step: may be called at any time, any number of times. The fd of the answer is a stream to init. */
struct warden_call *box_connect(const struct box *b, const char *request, warden_fn *fn, void *user);

const char *box_state_name(enum box_state s);
