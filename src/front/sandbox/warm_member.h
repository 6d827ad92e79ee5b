/* SPDX-License-Identifier: Apache-2.0 */
/* front/sandbox/warm_member: one sandbox of the pool, from its start to its being ready. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/err.h"
#include "front/link/upstream.h"
#include "ipc/msg.h"

struct front;
struct init_call;
struct init_build;
struct member;
struct template;
struct warden_call;

/* Called when it is ready, or when it could not be made: then e says why, and it has to be freed. */
typedef void member_fn(struct member *m, const struct err *e);

struct member {
	TAILQ_ENTRY(member) link; /* the owner's */
	struct front *front;
	const struct template *tpl; /* the owner's, who lives longer */
	void *owner;
	char id[ID_SIZE];
	bool ready;
	bool made;                 /* the warden has it */
	struct warden_call *asked; /* to start it; later, what it uses */
	struct init_call *call;
	struct init_build *start_cmd;
	bool run_start;
	uint64_t mem_bytes, cpu_ns; /* what it has used until it was ready */
	struct upstream_idle conn;  /* to its init, when ready */
	member_fn *fn;
};

TAILQ_HEAD(member_list, member);

struct member_start { /* what it begins with, besides its image */
	struct msg_limits limits;
	char from[ID_SIZE]; /* "": nothing */
	bool restore;       /* with the memory that is kept */
	bool run_start;     /* ... or the start command has to be run */
};

struct member *member_new(struct front *f, const struct template *tpl, const struct member_start *start, member_fn *fn,
    void *owner);
void member_free(struct member *m); /* the sandbox lives on */
/* ... no: it is killed. wait: the front does not end before the answer */
void member_end(struct member *m, bool wait);
