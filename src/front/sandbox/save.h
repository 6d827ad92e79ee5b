/* SPDX-License-Identifier: Apache-2.0 */
/* front/sandbox/save: saves the state of a running sandbox, so that others can be started from it; the sandbox
 * continues afterwards. Snapshots and forks use it.
 *
 * The sandbox is frozen while its memory is read, and its connections are closed, because connections to the
 * outside cannot be saved. Requests that arrive meanwhile wait. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "ipc/msg.h"

struct sandbox;

struct save_result {
	struct err e;       /* e.no != 0: nothing is saved */
	char name[ID_SIZE]; /* name for the warden; the receiver has to delete it with saved_delete() */
	uint32_t what;      /* SAVED_* */
};

enum save_memory {
	SAVE_DISK,               /* without memory: others boot from the disk */
	SAVE_MEMORY_IF_POSSIBLE, /* without memory if the server cannot write checkpoints */
	SAVE_MEMORY,
};

typedef void save_fn(void *user, const struct save_result *re);

/* The sandbox must be RUNNING and not sandbox_being_saved(). It is SAVING until its memory has been read. fn is
 * called when everything is written, never from inside. brief: the result will be deleted soon and need not
 * survive a crash of the host. */
void sandbox_save(struct sandbox *sb, enum save_memory memory, bool brief, save_fn *fn, void *user);

bool sandbox_can_checkpoint(const struct sandbox *sb); /* whether its memory can be saved to disk */
