/* SPDX-License-Identifier: Apache-2.0 */
/* front/sandbox/warm_member: one sandbox of the pool, from its start to its being ready. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/err.h"
#include "front/link/box.h"
#include "front/link/upstream.h"
#include "ipc/msg.h"

struct front;
struct member;
struct template;

/* Called when it is ready, or when it could not be made: then e says why, and it has to be freed. */
typedef void member_fn(struct member *m, const struct err *e);

struct member {
	TAILQ_ENTRY(member) link; /* the owner's */
	struct front *front;
	const struct template *tpl; /* the owner's, who lives longer */
	void *owner;
	struct box box;
	bool ready;
	bool run_start;
	uint64_t cpu_ns;           /* what it has used until it was ready */
	struct upstream_idle conn; /* to its init, when ready */
	member_fn *fn;
};

TAILQ_HEAD(member_list, member);

struct member_start { /* what it begins with, besides its image */
	struct msg_limits limits;
	char from[ID_SIZE]; /* "": nothing */
	bool restore;       /* with the memory that is saved there */
	bool run_start;     /* ... or the start command has to be run */
};

struct member *member_new(struct front *f, const struct template *tpl, const struct member_start *start, member_fn *fn,
    void *owner);
void member_free(struct member *m); /* the sandbox lives on */
/* ... no: it is killed. wait: the front does not end before the answer */
void member_kill(struct member *m, bool wait);
