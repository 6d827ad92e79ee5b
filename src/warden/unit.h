/* SPDX-License-Identifier: Apache-2.0 */
/* unit: the warden's object for one sandbox, from the request until nothing of the sandbox is left.
 *
 *	QUEUED ── builder free ──▶ BUILDING ── record on disk ──▶ RUNNING
 *	   │                          │ failed, stuck, unwanted      │ pid 1 ended
 *	   └── cancelled ──▶ (freed)  └────────▶ ENDING ◀────────────┘
 *	                                           └── all removed ──▶ EV_EXITED (freed)
 *
 * A unit keeps its slot until it is freed, so a new sandbox never meets the remains of an old one. */
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
	struct held_policy *policy; /* NULL: internet on or off only */
	bool frozen;
	struct {                    /* what atoll-egress must acknowledge before the front is answered */
		uint32_t seq;       /* 0: nothing pending */
		uint32_t front_seq; /* of the OP_NETWORK that waits; 0: none, or the OP_START waits */
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
		unsigned looks;      /* polls that remain */
		uint32_t seen;       /* kills that the front was notified of */
		struct timer *hurry; /* while its CPU quota is lifted */
		uint32_t hurry_kills;
		uint64_t hurry_since_ms, rest_until_ms;
		bool hurries;
	} oom;
	struct {
		uint64_t cpu_ns, sent_bytes;
	} last;                              /* its usage when it ended */
	bool limiting;                       /* a child is changing its limits */
	bool networking;                     /* a child is changing what it may reach */
	struct network_change *next_network; /* waits for that, or for a free child; NULL: nothing */
	struct keeper *keeper;               /* its disk or memory is being saved; NULL: not */
	bool restoring;                      /* while it is being built: from a checkpoint */
	bool unwanted;                       /* killed, or its front has exited, while it was being built */
	bool announced;                      /* the front knows that it runs, so it gets an EV_EXITED */
	uint32_t reason;                     /* enum exit_reason */
	char request[REQUEST_ID_SIZE];       /* of the OP_START, for the log */
	uint32_t seq;                        /* of the OP_START that waits for an answer; 0: none */
	uint64_t life;                       /* the front that sent it */
	uint64_t asked_ms;
	struct unit *next_queued;
	struct builder *builder;
	int pidfd;
	struct watch *watch;
	struct timer *timer; /* for the next attempt to reap */
	uint64_t ending_since_ms, delay_ms;
	bool late;  /* slow reaping has been logged */
	bool swept; /* a child has done the slow part of reaping */
};

struct unit *unit_find(struct warden *w, const char *id); /* any state; NULL: unknown */

/* Takes a checked request, a slot and a place in the queue for a builder. -EEXIST, -EMFILE, -ENOMEM, -ESHUTDOWN. */
int unit_start(struct warden *w, const struct msg_start *m, struct err *e);
void unit_adopt(struct warden *w, const struct record *r); /* from an earlier warden; takes over its policy */
void unit_kill(struct unit *sb);
void unit_used(struct unit *sb, const struct engine_usage *us);

/* For a running sandbox. Both answer the front's request; unit_freeze() does so when all processes are frozen. */
void unit_freeze(struct unit *sb, uint32_t seq);
void unit_thaw(struct unit *sb, uint32_t seq);
void unit_thaw_quietly(struct unit *sb); /* without an answer */
void unit_freeze_end(struct unit *sb);   /* the sandbox has ended: answers a pending freeze or thaw */

int unit_enforce(struct unit *sb, struct err *e); /* its policy, in an engine that does not have it yet */
void unit_told(struct unit *sb);                  /* called by egress.c: atoll-egress has the policy */

/* policy: checked bytes; none if n is 0. The front is answered when the policy is in force, or when it failed
 * and the old one still is. If this call fails, the caller answers. -EBUSY: too many changes wait. */
int unit_network(struct unit *sb, uint32_t seq, bool no_internet, const void *policy, size_t n, struct err *e);
void unit_network_end(struct unit *sb); /* the sandbox has ended: answers pending changes */

/* Changes all limits except open_files. The front is answered when they are in force; if this call fails, the
 * caller answers. */
int unit_limit(struct unit *sb, uint32_t seq, const struct msg_limits *to, struct err *e);
struct engine_limits limits_from_msg(const struct msg_limits *m);
struct msg_limits limits_to_msg(const struct engine_limits *l);

/* Called by the builder when it is done: 0 and pidfd (now owned by the unit), or -errno and e. */
void unit_built(struct unit *sb, int r, const struct engine_record *er, int pidfd, const struct err *e);

void units_kill_all(struct warden *w);
bool units_kill_running(struct warden *w); /* all except frozen ones; true: there are frozen ones */
void units_cancel_queue(struct warden *w);
void units_disown(struct warden *w); /* the front is gone: cancels the starts that it requested */
void units_free(struct warden *w);   /* memory and fds only */
