/* SPDX-License-Identifier: Apache-2.0 */
/* ckpt: the memory of a sandbox, written to disk and brought back to life, by a helper process that runs CRIU.
 *
 * The helper atoll-ckpt is forked while the engine is opened, before the warden gives up power: the kernel lets nobody
 * with a system call filter of his own suspend another's, and CRIU must. There are two of it, of which each puts
 * another in the place of the one that was killed; only if both are killed at once, nobody can make a new one before
 * the server is started again. Each request is worked on by a child of it, so several go on at once, and a dump that
 * was begun is finished even when the warden ends: half a dump leaves foreign code in the sandbox's processes.
 *
 * What belongs to an image besides CRIU's files is in image.h. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"
#include "engine/engine.h"

struct ckpt {
	int sock;  /* -1: this host cannot */
	pid_t pid; /* of the first; -1: it has ended, and another took its place or none did */
	bool was_there;
	char why_not[160];
};

/* Last, when all of the engine is open but the warden is not confined yet. Without tools it is no error: why_not
 * tells. */
int ckpt_start(struct engine *en, struct ckpt *ret, struct err *e);
void ckpt_stop(struct ckpt *c);
void ckpt_tick(struct ckpt *c); /* notices its end */

/* Of the engine's table; see engine.h. Both block. */
int ckpt_checkpoint(struct engine *en, const struct engine_record *r, const char *name, bool brief,
    void (*released)(void *arg), void *arg, struct engine_image *ret, struct err *e);
int ckpt_restore(struct engine *en, const struct engine_spec *spec, struct engine_record *ret, int *ret_pidfd,
    struct err *e);

/* How much of the pool an image of it will take, about. */
int dump_room(struct engine *en, const struct engine_record *r, uint64_t *ret_bytes, struct err *e);

/* In a child of the helper; sends a report of its own when the sandbox is not needed any more. */
int dump_run(struct engine *en, const struct engine_record *r, const char *name, bool brief, int sock,
    struct engine_image *ret, struct err *e);

/* In a child of the helper, which stays as the parent of what was restored: sends the report itself, and returns only
 * when it failed. */
int restore_run(struct engine *en, const struct engine_spec *spec, int sock, struct err *e);

enum { CKPT_FAILED, CKPT_DONE, CKPT_RELEASED };

struct ckpt_report {
	int32_t how;
	struct err e;
	struct engine_image image;   /* of a checkpoint */
	struct engine_record record; /* of a restore, with one fd: its pidfd */
};
