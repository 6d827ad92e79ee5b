/* SPDX-License-Identifier: Apache-2.0 */
/* front/sandbox/warm_member: one sandbox of the warm pool, from its start until it is ready. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/err.h"
#include "front/link/box.h"
#include "front/link/upstream.h"
#include "ipc/msg.h"

struct sandboxes;
struct member;
struct template;

/* Called when the member is ready, or with e when it could not be made; then the owner has to free it. */
typedef void member_fn(struct member *m, const struct err *e);

struct member {
	TAILQ_ENTRY(member) link; /* for the owner */
	struct sandboxes *all;
	const struct template *tpl; /* borrowed from the owner, which outlives the member */
	void *owner;
	struct box box;
	bool ready;
	bool run_start;
	uint64_t began_ms;         /* for the owner: when it was started */
	uint64_t cpu_ns;           /* CPU time used until it was ready */
	uint64_t mem_bytes;        /* memory used then */
	struct upstream_idle conn; /* an idle connection to its init, when ready */
	member_fn *fn;
};

TAILQ_HEAD(member_list, member);

struct member_start { /* what it starts from, besides its image */
	struct msg_limits limits;
	char from[ID_SIZE]; /* name of the saved state; "": none */
	bool restore;       /* restore the memory of that saved state */
	bool run_start;     /* otherwise: run the start command */
};

struct member *member_new(struct sandboxes *all, const struct template *tpl, const struct member_start *start,
    member_fn *fn, void *owner);
void member_free(struct member *m); /* does not kill the sandbox */
/* Kills the sandbox and frees m. wait: the front does not exit before the warden has answered. */
void member_kill(struct member *m, bool wait);
