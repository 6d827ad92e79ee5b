/* SPDX-License-Identifier: Apache-2.0 */
/* front/sandbox/sandbox: one sandbox as the front knows it, and its life.
 *
 *	STARTING --> RUNNING --> PAUSING --> PAUSED --> RESUMING --> RUNNING
 *	             RUNNING --> SAVING (others will be started from it) --> RUNNING
 *	    any of them --> ENDING (the warden has been asked) --> DEAD
 *
 * The id can be found in the table until ENDING. The object is counted: the table holds one reference
 * and so does everybody who waits for an answer about it. Whatever is connected to the sandbox hangs a
 * sandbox_link on it and is told when the sandbox stops running. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/err.h"
#include "front/account/alerts.h"
#include "front/account/metrics.h"
#include "front/account/usage.h"
#include "front/link/box.h"
#include "front/link/upstream.h"
#include "front/record/journal.h"
#include "front/sandbox/init_watch.h"
#include "front/sandbox/spec.h"
#include "front/util/expiry.h"
#include "front/util/token.h"
#include "ipc/msg.h"
#include "loop/share.h"
#include "store/teams.h"

struct front;
struct ruling;
struct sandbox;
struct sandbox_row;
struct template;
struct timer;
struct warm_pool_gift;

enum sandbox_state {
	SANDBOX_STARTING,
	SANDBOX_RUNNING,
	SANDBOX_PAUSING,
	SANDBOX_PAUSED,
	SANDBOX_RESUMING,
	SANDBOX_SAVING,
	SANDBOX_ENDING,
	SANDBOX_DEAD,
	SANDBOX_STATES,
};

/* Where the memory of a sandbox is. */
enum memory_place {
	MEMORY_RAM,
	MEMORY_BOTH, /* frozen, and in a checkpoint on disk, too */
	MEMORY_DISK,
	MEMORY_NONE, /* it was given up: the sandbox boots from its disk */
	MEMORY_LOST, /* it has died while it was paused, and there is no checkpoint */
	MEMORY_PLACES,
};

/* What the store has of it. */
enum row_copy {
	ROW_COPY_NONE, /* no row: a warm one gets it when it runs */
	ROW_COPY_CURRENT,
	ROW_COPY_LAGS, /* the row could not be brought up to date */
};

/* Called once, when the state has settled (anything but STARTING, PAUSING, RESUMING and SAVING), or all that was saved
 * of it is written; unhooked before the call. */
struct sandbox_waiter {
	LIST_ENTRY(sandbox_waiter) link;
	void (*fn)(struct sandbox_waiter *w, struct sandbox *sb);
};

/* Called once, when the sandbox stops running; unhooked before the call. */
struct sandbox_link {
	LIST_ENTRY(sandbox_link) link;
	void (*broken)(struct sandbox_link *l, struct sandbox *sb);
	bool hooked;
};

LIST_HEAD(sandbox_waiters, sandbox_waiter);
LIST_HEAD(sandbox_links, sandbox_link);

/* What is saved of a paused one, as written to the store: never renumber. */
#define SAVED_DISK 1u
#define SAVED_MEMORY 2u
#define SAVED_START 8u /* of a template: without its memory, so its start command has to be run */
/* it was paused, or is to be resumed, without its memory: what still runs of it is to be ended */
#define SAVED_NO_RAM 4u

struct sandbox_saved {
	char name[ID_SIZE];   /* "": nothing */
	uint32_t what;        /* SAVED_* */
	uint64_t bytes;       /* of the memory, if known */
	uint32_t tries;       /* to keep the memory, too, so far */
	uint64_t next_try_ms; /* wall clock */
	char why_not[200];    /* what was in the way */
};

struct sandbox {
	struct front *front;
	char id[ID_SIZE];
	char team[TEAM_ID_SIZE];
	char key[TEAM_ID_SIZE]; /* that made it; "": none */
	struct spec spec;
	char envd_token[TOKEN_SIZE];    /* "" without SPEC_SECURE */
	char traffic_token[TOKEN_SIZE]; /* "" without SPEC_PRIVATE_TRAFFIC */
	enum sandbox_state state;
	unsigned refs;
	uint64_t created_ms;
	uint64_t started_us;      /* wall clock; of the last resume */
	uint64_t end_ms;          /* wall clock: when it will expire, or when it was paused */
	uint64_t active_ms;       /* wall clock: last request into it */
	uint64_t noted_active_ms; /* ... as the store has it */
	uint64_t metered_mono_ms; /* it runs, and that counts, since then, before it has been noted; 0: it does not */
	uint64_t stopped_ms;      /* wall clock: of the end of its last run, while it is paused; else 0 */
	enum end_reason end_why;  /* ENDING, DEAD */
	uint64_t sent_seen, sent_noted; /* bytes in all its lives: as last told, and of that in the report of usage */
	uint32_t users;                 /* requests and tunnels that are under way */
	uint32_t resume_timeout_s;      /* while RESUMING */
	uint64_t resume_by_ms;          /* ... and how long it waits for its last life to be cleared away; monotonic */
	struct box box;        /* what the warden has of it; ABSENT: there is no more of it than what is saved */
	struct ruling *ruling; /* its box is settled once the rules of its network hold; NULL: none is waited for */
	struct sandbox_saved saved;
	/* the key of its creation: asked for again with it, it is given again; or NULL */
	char *once;
	char request[REQUEST_ID_SIZE]; /* that is changing it now, for the log of the warden; "": nobody's */
	struct err fail;               /* why the last transition did not work */
	enum row_copy row;
	int warm_fd; /* a connection to the init of one from the warm pool, until it is settled; -1: none */
	unsigned kill_tries;
	struct timer *retry; /* of the kill */
	struct expiry_entry expiry;
	struct sandbox_waiters waiters;
	struct sandbox_links links;
	struct upstream_idle warm_pool;
	uint32_t exchanges, tunnels; /* requests into it that are under way, and upgraded connections */
	struct share share;          /* of the front's time: all that its requests and answers take */
	struct usage_ring usage;
	struct alert_marks alerts; /* which limits it is near */
	struct {
		bool known;
		uint64_t cpu_ns, sent_bytes;
	} paid;                    /* what of its use in this life is on its owner's account */
	uint64_t sent_before;      /* bytes, in the lives before this one */
	uint32_t oom_kills;        /* in this one */
	struct log_tail *log;      /* NULL before the first entry */
	uint64_t noted_ms;         /* wall clock: of the last entry */
	uint64_t refused_since_ms; /* since when these were counted: */
	uint32_t refused_noted;    /* entries about refused system calls */
	json_t *secrets;           /* values that are not written down, see front/record/veil.h; NULL: none */
	struct init_watch *watch;  /* NULL: nobody listens */
	struct {
		uint64_t since_ms;
		uint32_t n;
	} notes;                  /* of its init, for the server's log */
	struct event_mark events; /* what the log has of those */
	struct sandbox *next;     /* in its bucket of the table */
};

/* as the warden is to know them */
struct msg_limits sandbox_limits_to_send(const struct sandbox *sb, const struct msg_limits *l);
/* STARTING, in the table. warm: out of the warm pool, and it is to be started with sandbox_start_warm(); it gets its
 * row when it runs, and this does not fail. NULL: it has a row, and is to be started with sandbox_start_cold(). Takes
 * over what *sp owns. */
int sandbox_new(struct front *f, const char *team, const char *key, struct spec *sp, const struct warm_pool_gift *warm,
    struct sandbox **ret, struct err *e);
/* After a restart; NULL: the row is damaged. */
struct sandbox *sandbox_restore(struct front *f, const struct sandbox_row *row, bool live, bool frozen);
struct sandbox *sandbox_ref(struct sandbox *sb);
void sandbox_unref(struct sandbox *sb); /* NULL is fine */

/* so many of its processes were killed at its memory limit, since its start */
void sandbox_oom(struct sandbox *sb, uint32_t kills);
/* Both end in RUNNING, or in ENDING or DEAD with `fail` set. */
void sandbox_start_warm(struct sandbox *sb); /* only its settings; if that fails, another is started */
void sandbox_start_cold(struct sandbox *sb);
void sandbox_started(struct sandbox *sb);      /* for start.c */
void sandbox_start_afresh(struct sandbox *sb); /* ... what the pool gave was of no use */
void sandbox_make_id(const struct front *f, char id[ID_SIZE]);
/* RUNNING only; ends in PAUSED, or in RUNNING with `fail` set */
void sandbox_pause(struct sandbox *sb, bool memory);
/* PAUSED only; ends in RUNNING, or in PAUSED with `fail` set */
void sandbox_resume(struct sandbox *sb, uint32_t timeout_s, bool memory);
void sandbox_run_on(struct sandbox *sb); /* PAUSING, by a front that is no more and has promised nothing */
/* 'atoll backup' asks by this file in the front's directory for memory that is not on disk yet to be written at once,
 * and reads there how far that is. Look, then the ticks of all, then done. */
#define SANDBOX_HURRY "write-memory"
int sandbox_hurry_open(struct front *f, struct err *e);
void sandbox_hurry_look(struct front *f);
void sandbox_hurry_done(struct front *f);
/* The server stops, and sandboxes end with it: begins to write what is in memory only. True: nothing is left to wait
 * for. */
bool sandbox_write_memory(struct front *f);
void sandbox_pause_tick(struct sandbox *sb); /* once a second: keeps the memory of a paused one on disk, too */
/* the warden has it no more: it has ended, lives on in what is saved of it, or is started afresh */
void sandbox_box_exited(struct sandbox *sb, enum end_reason why, const char *reason);
bool sandbox_live(const struct sandbox *sb); /* the warden has it, and counts what it uses */
/* for a snapshot or a fork; it may run again while its memory is still being written */
bool sandbox_being_saved(const struct sandbox *sb);
void sandbox_delete_saved(struct sandbox *sb);
uint64_t sandbox_memory(const struct sandbox *sb); /* bytes that it uses, as last seen */
/* the largest paused one that is on disk, too, leaves the memory; one at a time */
void sandbox_reclaim_memory(struct front *f);
void sandbox_kill(struct sandbox *sb, enum end_reason why,
    const char *reason); /* gone from the table on return; DEAD when the warden agreed */
void sandbox_exited(struct sandbox *sb, enum end_reason why, const char *reason); /* it ended by itself */
void sandbox_expired(struct expiry_entry *en);
void sandbox_forget(struct sandbox *sb); /* the front ends, the sandbox does not */

uint64_t sandbox_latest_end(const struct sandbox *sb, uint64_t end_ms); /* that, or when its longest life is over */
void sandbox_set_timeout(struct sandbox *sb, uint32_t timeout_s, bool extend_only); /* RUNNING only */
void sandbox_wait(struct sandbox *sb, struct sandbox_waiter *w);
void sandbox_attach(struct sandbox *sb, struct sandbox_link *l);
void sandbox_detach(struct sandbox_link *l); /* fine when not hooked */

/* Idle connections into it; how many there are in all is bounded. */
int sandbox_idle_take(struct sandbox *sb);         /* -1: none */
void sandbox_idle_put(struct sandbox *sb, int fd); /* owns fd */
void sandbox_idle_tick(struct sandbox *sb);        /* closes the old ones */

void sandbox_by(struct sandbox *sb,
    const char *request); /* what is done to it next is because of that request; "": of none */
/* Somebody uses it, from begin to end. */
void sandbox_use_begin(struct sandbox *sb);
void sandbox_use_end(struct sandbox *sb);
uint64_t sandbox_active_ms(const struct sandbox *sb); /* when it was used last: now, while it is */

/* A line in its journal: fmt has "name=value" pairs separated by blanks, without blanks in the values. */
void sandbox_note(struct sandbox *sb, enum log_level level, enum journal_kind kind, const char *message,
    const char *fmt, ...) __attribute__((format(printf, 5, 6)));

/* The same; a time that lies in the past is kept, but never before that of the entry before. */
void sandbox_note_entry(struct sandbox *sb, struct journal_entry *en);

enum memory_place sandbox_memory_place(const struct sandbox *sb);
const char *sandbox_memory_name(const struct sandbox *sb); /* of a paused one: its place, for clients */
bool sandbox_may_follow(enum sandbox_state from, enum memory_place at, enum sandbox_state to);
/* STARTING, out of the warm pool, and not settled yet */
bool sandbox_is_warm(const struct sandbox *sb);
const char *sandbox_state_name(const struct sandbox *sb); /* "running" or "paused", as clients know it */
static inline bool sandbox_gone(const struct sandbox *sb)
{
	return sb->state == SANDBOX_ENDING || sb->state == SANDBOX_DEAD;
}
