/* SPDX-License-Identifier: Apache-2.0 */
/* unit: one sandbox of the warden, from the request to the last trace of it.
 *
 *	QUEUED ── builder free ──▶ BUILDING ── record on disk ──▶ RUNNING
 *	   │                          │ failed, stuck, unwanted      │ pid 1 ended
 *	   └── cancelled ──▶ (freed)  └────────▶ ENDING ◀────────────┘
 *	                                           └── all removed ──▶ EV_EXITED (freed)
 *
 * Its slot is free again only when it is freed, so nothing new meets the remains of something old. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "engine/engine.h"
#include "ipc/msg.h"

struct builder;
struct held_policy;
struct keeper;
struct network_change;
struct record;
struct timer;
struct warden;
struct watch;

enum unit_state { UNIT_QUEUED, UNIT_BUILDING, UNIT_RUNNING, UNIT_ENDING };

struct unit {
	struct warden *w;
	enum unit_state state;
	struct engine_record er;
	struct held_policy *policy; /* NULL: none but on or off */
	bool frozen;
	struct {                    /* what atoll-egress has to know before an answer is given */
		uint32_t seq;       /* 0: nothing is under way */
		uint32_t front_seq; /* of the OP_NETWORK that waits for it; 0: none, perhaps the OP_START does */
		uint64_t life;
	} telling;
	struct { /* an OP_FREEZE or OP_THAW under way */
		struct timer *timer;
		uint32_t seq;  /* 0: none */
		bool thaws;    /* OP_THAW */
		uint64_t life; /* the front that asked */
		uint64_t until_ms;
	} freezing;
	struct {
		int fd; /* see oom_watch() of the engine; -1: none */
		struct watch *watch;
		struct timer *timer;
		unsigned looks;      /* still to come */
		uint32_t seen;       /* kills that the front was told of */
		struct timer *hurry; /* while it has no quota of processor time */
		uint32_t hurry_kills;
		uint64_t hurry_since_ms, rest_until_ms;
		bool hurries;
	} oom;
	struct {
		uint64_t cpu_ns, sent_bytes;
	} last;                              /* what it had used when it ended */
	bool limiting;                       /* a child is changing its limits */
	bool networking;                     /* a child is changing what it may reach */
	struct network_change *next_network; /* what waits for that, or for a place; NULL: nothing */
	struct keeper *keeper;               /* its disk or memory is being written; NULL: not */
	bool restoring;                      /* while it is being built: from a kept memory */
	bool unwanted;                       /* killed, or its front has gone, while it was being built */
	bool announced;                      /* the front was told that it runs, so it will be told that it ended */
	uint32_t reason;                     /* enum exit_reason */
	char request[REQUEST_ID_SIZE];       /* of the OP_START, for the log */
	uint32_t seq;                        /* of the OP_START that waits for an answer; 0: none */
	uint64_t life;                       /* the front that sent it */
	uint64_t asked_ms;
	struct unit *next_queued;
	struct builder *builder;
	int pidfd;
	struct watch *watch;
	struct timer *timer; /* the next attempt to reap */
	uint64_t ending_since_ms, delay_ms;
	bool late;  /* complained once that reaping takes too long */
	bool swept; /* a child has done the slow part of reaping */
};

struct unit *unit_find(struct warden *w, const char *id); /* any state; NULL: unknown */

/* A checked request: takes a slot and a place in the queue of builders. -EEXIST, -EMFILE, -ENOMEM, -ESHUTDOWN. */
int unit_start(struct warden *w, const struct msg_start *m, struct err *e);
void unit_adopt(struct warden *w, const struct record *r); /* from an earlier warden; its policy is taken over */
void unit_kill(struct unit *sb);
void unit_used(struct unit *sb, const struct engine_usage *us);

/* Of a running one; both answer the front's request by themselves, freezing when all of it has stopped. */
void unit_freeze(struct unit *sb, uint32_t seq);
void unit_thaw(struct unit *sb, uint32_t seq);
void unit_thaw_quietly(struct unit *sb); /* without an answer */
void unit_freeze_end(struct unit *sb);   /* it is no more: whoever still waits for one of them hears so */

int unit_enforce(struct unit *sb, struct err *e); /* its policy, in an engine that does not know of it */
void unit_told(struct unit *sb);                  /* called by egress.c: it knows the policy */

/* policy: checked bytes, none with n 0. The front is answered when it holds, or when it does not and the old one does;
 * on failure here the caller answers. -EBUSY: too many of them wait. */
int unit_network(struct unit *sb, uint32_t seq, bool no_internet, const void *policy, size_t n, struct err *e);
void unit_network_end(struct unit *sb); /* it is no more: whoever waits for a change hears so */

/* All but open_files. The front is answered when they hold; on failure the caller answers. */
int unit_limit(struct unit *sb, uint32_t seq, const struct msg_limits *to, struct err *e);
struct engine_limits limits_from_msg(const struct msg_limits *m);
struct msg_limits limits_to_msg(const struct engine_limits *l);

/* Called by the builder when it is done: 0 and pidfd (now the sandbox's), or -errno and e. */
void unit_built(struct unit *sb, int r, const struct engine_record *er, int pidfd, const struct err *e);

void units_kill_all(struct warden *w);
bool units_kill_running(struct warden *w); /* all but those that are frozen; true: there are such */
void units_cancel_queue(struct warden *w);
void units_disown(struct warden *w); /* the front is gone: what it was starting is not wanted any more */
void units_free(struct warden *w);   /* memory and fds only */
