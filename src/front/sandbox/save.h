/* SPDX-License-Identifier: Apache-2.0 */
/* front/sandbox/save: saves the state of a running sandbox, to start others from; it goes on afterwards. Snapshots and
 * forks are made of that.
 *
 * It stands still meanwhile, for as long as its memory takes to be read, and what is connected to it is cut off:
 * connections to the outside cannot be saved. Requests that come wait. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "ipc/msg.h"

struct sandbox;

struct save_result {
	struct err e;       /* e.no != 0: nothing is saved */
	char name[ID_SIZE]; /* for the warden; now the receiver's to forget */
	uint32_t what;      /* SAVED_* */
};

enum save_memory {
	SAVE_DISK,               /* others boot from it */
	SAVE_MEMORY_IF_POSSIBLE, /* left out on a server that cannot save any */
	SAVE_MEMORY,
};

typedef void save_fn(void *user, const struct save_result *re);

/* RUNNING and not sandbox_being_saved() only; SAVING until its memory has been read. fn is called when all is saved,
 * never from inside. brief: it will be deleted soon and need not outlive the host. */
void sandbox_save(struct sandbox *sb, enum save_memory memory, bool brief, save_fn *fn, void *user);
