/* SPDX-License-Identifier: Apache-2.0 */
/* front/sandbox/sandbox: one sandbox as the front knows it. What changes its state is in life.h, start.h, pause.h,
 * save.h and end.h.
 *
 *	STARTING --> RUNNING --> PAUSING --> PAUSED --> RESUMING --> RUNNING
 *	             RUNNING --> SAVING (others will be started from it) --> RUNNING
 *	    any of them --> ENDING (the warden has been asked) --> DEAD
 *
 * The table holds the sandbox until ENDING. The object is reference-counted: the table holds one reference, and so
 * does each pending call about the sandbox. A connection to the sandbox attaches a sandbox_link, whose callback
 * runs when the sandbox stops running. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/err.h"
#include "front/account/alerts.h"
#include "front/account/metrics.h"
#include "front/account/usage.h"
#include "front/link/box.h"
#include "front/link/saved.h"
#include "front/link/upstream.h"
#include "front/record/journal.h"
#include "front/sandbox/spec.h"
#include "front/util/expiry.h"
#include "front/util/token.h"
#include "ipc/msg.h"
#include "loop/share.h"
#include "store/teams.h"

struct ruling;
struct veiled;
struct sandbox;
struct init_watch;
struct sandboxes;
struct stream;
struct timer;

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
	MEMORY_BOTH, /* frozen in RAM, and in a checkpoint on disk */
	MEMORY_DISK,
	MEMORY_NONE, /* the memory was discarded: the sandbox boots from its disk */
	MEMORY_LOST, /* the sandbox died while paused, and there is no checkpoint */
	MEMORY_PLACES,
};

/* How the row in the store relates to the sandbox. */
enum row_copy {
	ROW_COPY_NONE, /* no row: a sandbox from the warm pool gets its row once it runs */
	ROW_COPY_CURRENT,
	ROW_COPY_LAGS, /* the last write of the row failed */
};

/* Called once, when the state has settled (anything but STARTING, PAUSING, RESUMING and SAVING) or when
 * sandbox_save() has written everything. It is removed from the list before the call. */
struct sandbox_waiter {
	LIST_ENTRY(sandbox_waiter) link;
	void (*fn)(struct sandbox_waiter *w, struct sandbox *sb);
};

/* Called once, when the sandbox stops running. It is removed from the list before the call. */
struct sandbox_link {
	LIST_ENTRY(sandbox_link) link;
	void (*broken)(struct sandbox_link *l, struct sandbox *sb);
	bool hooked;
};

/* Its use by another thread, see front/proxy/replica.h. Each of the two has a reference. */
struct sandbox_use {
	atomic_uint refs;
	_Atomic uint32_t users;
	_Atomic uint64_t active_ms; /* wall clock: end of the last use */
};

void sandbox_use_unref(struct sandbox_use *u); /* NULL is fine */

LIST_HEAD(sandbox_waiters, sandbox_waiter);
LIST_HEAD(sandbox_links, sandbox_link);

struct sandbox_saved {
	char name[ID_SIZE];   /* "": nothing is saved */
	uint32_t what;        /* SAVED_* */
	uint64_t bytes;       /* size of the checkpoint, if known */
	uint32_t tries;       /* attempts to write the checkpoint so far */
	uint64_t next_try_ms; /* wall clock */
	char why_not[200];    /* why the last attempt failed */
};

#define EVENT_KEYS 8

struct event_mark {                /* the newest events in the log, to recognise duplicates */
	uint64_t at_ms;            /* time of the newest event, by the clock of init */
	uint64_t keys[EVENT_KEYS]; /* hashes of the logged events of that millisecond */
	unsigned n_keys;
	bool known;
};

struct sandbox {
	struct sandboxes *all;
	char id[ID_SIZE];
	char team[TEAM_ID_SIZE];
	char key[TEAM_ID_SIZE]; /* the API key that created it; "": none */
	struct spec spec;
	char envd_token[TOKEN_SIZE];    /* "" without SPEC_SECURE */
	char traffic_token[TOKEN_SIZE]; /* "" without SPEC_PRIVATE_TRAFFIC */
	enum sandbox_state state;
	unsigned refs;
	uint64_t created_ms;
	uint64_t started_us;      /* wall clock; renewed at each resume */
	uint64_t end_ms;          /* wall clock: when it will expire, or when it was paused */
	uint64_t active_ms;       /* wall clock: last request into it */
	uint64_t noted_active_ms; /* the value of active_ms in the store */
	uint64_t metered_mono_ms; /* monotonic time from which running time is not written yet; 0: it does not run */
	uint64_t stopped_ms;      /* wall clock: end of its last run, while it is paused; else 0 */
	enum end_reason end_why;  /* ENDING, DEAD */
	/* bytes sent in total: as last reported, and the part already in the usage report */
	uint64_t sent_seen, sent_noted;
	uint32_t users; /* requests and tunnels in progress */
	/* Use by the thread that serves requests into it, as this replica or beside it; NULL: none does. */
	struct sandbox_use *use;
	uint32_t resume_timeout_s; /* while RESUMING */
	uint64_t resume_by_ms;     /* deadline for the previous run to be cleaned up; monotonic */
	struct box box;            /* what the warden holds; ABSENT: only the saved state is left, if any */
	struct ruling *ruling;     /* a settle that waits until atoll-egress has the network rules; NULL: none */
	struct sandbox_saved saved;
	/* Idempotency key of its creation, or NULL. A create request with the same key returns this sandbox. */
	char *once;
	/* correlation id of the request that is changing it, for the warden's log; "": none */
	char request[REQUEST_ID_SIZE];
	struct err fail; /* why the last transition failed */
	enum row_copy row;
	int warm_fd;    /* a connection to the init of a sandbox from the warm pool, until it is settled; -1: none */
	bool warm_died; /* from the warm pool, and has exited before it was ready for its client */
	unsigned kill_tries;
	struct timer *retry; /* for the next attempt to kill it */
	struct expiry_entry expiry;
	struct sandbox_waiters waiters;
	struct sandbox_links links;
	struct upstream_idle warm_pool;
	uint32_t exchanges, tunnels; /* requests and upgraded connections in progress */
	struct share share;          /* its part of the front's time, for all its requests and answers */
	struct usage_ring usage;
	struct alert_marks alerts; /* limits that it has been reported to be near */
	struct {
		bool known;
		uint64_t cpu_ns, sent_bytes;
	} paid;                    /* what is charged already of its use since its last start */
	uint64_t sent_before;      /* bytes sent before its last start */
	uint32_t oom_kills;        /* since its last start */
	struct log_tail *log;      /* NULL before the first entry */
	uint64_t noted_ms;         /* wall clock: time of the last entry */
	uint64_t refused_since_ms; /* start of the period that refused_noted counts */
	uint32_t refused_noted;    /* log entries about refused system calls */
	struct veiled *secrets;    /* values that are redacted; NULL before the first request */
	uint64_t used_ms;          /* of a replica: when its last use was reported; 0: never */
	struct init_watch *watch;  /* NULL: there is no watch */
	struct {
		uint64_t since_ms;
		uint32_t n;
	} notes;                  /* rate limit of notes from its init in the server's log */
	struct event_mark events; /* newest process events in the log */
	struct sandbox *next;     /* in its bucket of the table */
};

struct sandbox *sandbox_ref(struct sandbox *sb);
void sandbox_unref(struct sandbox *sb); /* NULL is fine */

bool sandbox_live(const struct sandbox *sb); /* whether the warden has it and counts its use */
/* True during sandbox_save(); the sandbox may run again while its memory is still being written. */
bool sandbox_being_saved(const struct sandbox *sb);
uint64_t sandbox_memory(const struct sandbox *sb); /* bytes of memory in its last sample */
/* wall clock in microseconds, so that sandboxes started within one millisecond have an order */
uint64_t sandbox_now_us(void);
/* end_ms, or the end of its maximum lifetime if that is earlier */
uint64_t sandbox_latest_end(const struct sandbox *sb, uint64_t end_ms);
void sandbox_wait(struct sandbox *sb, struct sandbox_waiter *w);
void sandbox_attach(struct sandbox *sb, struct sandbox_link *l);
void sandbox_detach(struct sandbox_link *l);  /* does nothing if l is not attached */
void sandbox_break_links(struct sandbox *sb); /* ends all connections to a sandbox that has stopped running */

/* Idle connections to its init. Their total number is limited. */
struct stream *sandbox_idle_take(struct sandbox *sb);        /* NULL: none */
int sandbox_idle_take_fd(struct sandbox *sb);                /* -1: none */
void sandbox_idle_put(struct sandbox *sb, struct stream *s); /* owns s */
void sandbox_idle_put_fd(struct sandbox *sb, int fd);        /* owns fd */
void sandbox_idle_close(struct sandbox *sb);
void sandbox_idle_tick(struct sandbox *sb); /* closes those idle for too long */

void sandbox_by(struct sandbox *sb,
    const char *request); /* correlation id of the request that causes the next changes; "": none */
/* Marks a use of the sandbox, from begin to end. */
void sandbox_use_begin(struct sandbox *sb);
void sandbox_use_end(struct sandbox *sb);
bool sandbox_in_use(const struct sandbox *sb);        /* by a request or a tunnel */
struct veiled *sandbox_secrets(struct sandbox *sb);   /* values that are redacted, borrowed */
uint64_t sandbox_active_ms(const struct sandbox *sb); /* time of last use; now, while it is in use */

/* Adds a line to its log. fmt has "name=value" pairs separated by blanks, without blanks in the values. */
void sandbox_note(struct sandbox *sb, enum log_level level, enum journal_kind kind, const char *message,
    const char *fmt, ...) __attribute__((format(printf, 5, 6)));

/* The same, with the pairs as a text. */
void sandbox_note_text(struct sandbox *sb, enum log_level level, enum journal_kind kind, const char *message,
    const char *pairs);
void sandbox_note_life(struct sandbox *sb, enum log_level level, const char *message);
/* Like sandbox_note(). A time in the past is used as it is, but never one before that of the previous entry. */
void sandbox_note_entry(struct sandbox *sb, struct journal_entry *en);

enum memory_place sandbox_memory_place(const struct sandbox *sb);
const char *sandbox_memory_name(const struct sandbox *sb); /* where the memory of a paused sandbox is, for clients */
/* STARTING, from the warm pool, and not settled yet. */
bool sandbox_is_warm(const struct sandbox *sb);
const char *sandbox_state_name(const struct sandbox *sb); /* "running" or "paused", as clients see it */
static inline bool sandbox_gone(const struct sandbox *sb)
{
	return sb->state == SANDBOX_ENDING || sb->state == SANDBOX_DEAD;
}
