/* SPDX-License-Identifier: Apache-2.0 */
/* front/sandbox/keep: keeps the state of a running sandbox, to start others from; it goes on afterwards.
 *
 * It stands still meanwhile, for as long as its memory takes to be read, and what is connected to it is cut off:
 * connections to the outside cannot be kept. Requests that come wait. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "ipc/msg.h"

struct sandbox;

struct keep_result {
	struct err e;       /* e.no != 0: nothing is kept */
	char name[ID_SIZE]; /* for the warden; now the receiver's to forget */
	uint32_t what;      /* KEPT_* */
};

enum keep_memory {
	KEEP_MEMORY_NOT, /* others boot from its disk */
	KEEP_MEMORY_IF,  /* left out on a server that cannot keep any */
	KEEP_MEMORY_NEEDED,
};

typedef void keep_fn(void *user, const struct keep_result *re);

/* RUNNING and not being_kept only; KEEPING until its memory has been read. fn is called when all is kept, never from
 * inside. brief: it will be forgotten soon and need not outlive the host. */
void sandbox_keep(struct sandbox *sb, enum keep_memory memory, bool brief, keep_fn *fn, void *user);
