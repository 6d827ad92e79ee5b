/* SPDX-License-Identifier: Apache-2.0 */
/* ckpt: checkpoints and restores the memory of a sandbox, by a helper process that runs CRIU.
 *
 * The helper atoll-ckpt is forked while the engine is opened, before the warden drops privileges: the kernel does
 * not let a process with a seccomp filter suspend the filters of another, and CRIU must do that. There are two
 * helpers, and each replaces the other if it is killed. Only if both are killed at once, no new helper can be made
 * until the server is restarted. Each request runs in a child of the helper, so several run at once, and a dump
 * that has begun is finished even if the warden exits: an interrupted dump would leave CRIU's code in the
 * sandbox's processes.
 *
 * image.h lists what a checkpoint holds besides CRIU's files. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"
#include "engine/engine.h"

struct ckpt {
	int sock;  /* -1: this host cannot checkpoint */
	pid_t pid; /* of the first helper; -1: it has exited, and another may have taken its place */
	bool was_there;
	char why_not[160];
};

/* Called last, when the rest of the engine is open but the warden is not confined yet. Missing tools are no error:
 * why_not gives the reason. */
int ckpt_start(struct engine *en, struct ckpt *ret, struct err *e);
void ckpt_stop(struct ckpt *c);
void ckpt_tick(struct ckpt *c); /* notices the helper's exit */

/* Functions of the engine's table; see engine.h. Both block. */
int ckpt_checkpoint(struct engine *en, const struct engine_record *r, const char *name, bool brief,
    void (*released)(void *arg), void *arg, struct engine_image *ret, struct err *e);
int ckpt_restore(struct engine *en, const struct engine_spec *spec, struct engine_record *ret, int *ret_pidfd,
    struct err *e);

/* To be called when the template has a new zygote: starts reading what restores are going to need. */
void ckpt_ahead(struct engine *en, const char *template_key);

/* Runs in a child of the helper. */
void ahead_run(struct engine *en, const char *template_key);

/* Estimates how much storage a checkpoint of the sandbox will take. */
int dump_room(struct engine *en, const struct engine_record *r, uint64_t *ret_bytes, struct err *e);

/* Runs in a child of the helper. Sends a report of its own as soon as the sandbox may be thawed. */
int dump_run(struct engine *en, const struct engine_record *r, const char *name, bool brief, int sock,
    struct engine_image *ret, struct err *e);

/* Runs in a child of the helper, which stays as the parent of the restored sandbox. Sends the report itself, and
 * returns only on failure. */
int restore_run(struct engine *en, const struct engine_spec *spec, int sock, struct err *e);

enum { CKPT_FAILED, CKPT_DONE, CKPT_RELEASED };

struct ckpt_report {
	int32_t how;
	struct err e;
	struct engine_image image;   /* of a checkpoint */
	struct engine_record record; /* of a restore, with one fd: the sandbox's pidfd */
};
