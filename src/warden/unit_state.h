/* SPDX-License-Identifier: Apache-2.0 */
/* unit_state: what the warden knows about one sandbox. The module of each part has what can be done with it: unit.h
 * (start and end), freeze.h, network.h, limit.h, keeper.h, oom.h. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "engine/engine.h"
#include "ipc/msg.h"

struct builder;
struct held_policy;
struct keeper;
struct join;
struct network_change;
struct record;
struct timer;
struct warden;
struct watch;

enum unit_state { UNIT_QUEUED, UNIT_BUILDING, UNIT_RUNNING, UNIT_ENDING };

struct unit {
	struct warden *w;
	LIST_ENTRY(unit) all, same; /* of all units, and of those with the same hash of their id */
	enum unit_state state;
	struct engine_record er;
	struct held_policy *policy; /* NULL: internet on or off only */
	bool frozen;
	struct { /* what atoll-egress must acknowledge before the front is answered */
		LIST_ENTRY(unit) link;
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
		int fd;           /* see oom_watch() of the engine; -1: none */
		bool by_priority; /* ENGINE_OOM_PRIORITY */
		struct watch *watch;
		struct timer *timer;
		unsigned looks;      /* polls that remain */
		uint32_t seen;       /* kills that the front was notified of */
		struct timer *hurry; /* while its CPU quota is lifted */
		uint32_t hurry_kills;
		uint64_t hurry_since_ms, rest_until_ms;
		bool hurries;
	} oom;
	struct {          /* for seeds that its init wants, see unit/bell.h */
		int fd;   /* -1: closed */
		int seed; /* pidfd of the last one made; -1: none */
		struct watch *watch;
		bool waits; /* has rung */
		TAILQ_ENTRY(unit) link;
		unsigned due;     /* how many it may still have, */
		uint64_t past_ms; /* at that time */
	} bell;
	struct {
		uint64_t cpu_ns, sent_bytes;
	} last;                              /* its usage when it ended */
	bool limiting;                       /* a child is changing its limits */
	bool networking;                     /* a child is changing what it may reach */
	struct network_change *next_network; /* waits for that, or for a free child; NULL: nothing */
	struct join *joins;                  /* connections that are being made */
	uint32_t n_joins;
	struct keeper *keeper;         /* its disk or memory is being saved; NULL: not */
	bool restoring;                /* while it is being built: from a checkpoint */
	bool unwanted;                 /* killed, or its front has exited, while it was being built */
	bool announced;                /* the front knows that it runs, so it gets an EV_EXITED */
	uint32_t reason;               /* enum exit_reason */
	char request[REQUEST_ID_SIZE]; /* of the OP_START, for the log */
	uint32_t seq;                  /* of the OP_START that waits for an answer; 0: none */
	uint64_t life;                 /* the front that sent it */
	uint64_t asked_ms;
	struct unit *next_queued;
	struct engine_pair pair; /* taken for its start, until the builder has it */
	struct builder *builder;
	int pidfd;
	struct watch *watch;
	struct timer *timer; /* for the next attempt to reap */
	uint64_t ending_since_ms, delay_ms;
	bool late;  /* slow reaping has been logged */
	bool swept; /* a child has done the slow part of reaping */
};
