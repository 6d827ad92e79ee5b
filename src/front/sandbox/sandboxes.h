/* SPDX-License-Identifier: Apache-2.0 */
/* front/sandbox/sandboxes: all sandboxes, and what they are created from: templates, snapshots, volumes. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/boot_id.h"
#include "base/log.h"
#include "front/record/journal.h"
#include "front/sandbox/template.h"
#include "front/util/memory.h"

struct accounts;
struct departed;
struct expiry;
struct init_watch;
struct links;
struct records;
struct row_ends;
struct rules_link;
struct sandbox_table;
struct snapshot;
struct volume;
struct warm_pool;
struct sandbox;

/* What the thread of a replica leaves to the main thread, see front/proxy/replica.h. The implementations copy what
 * they are given. */
struct sandbox_away_ops {
	void (*note)(void *user, const struct sandbox *sb, enum log_level level, enum journal_kind kind,
	    const char *message, const char *pairs);
	void (*use)(void *user, const struct sandbox *sb); /* init_watch_use() */
};

LIST_HEAD(departed_list, departed);
LIST_HEAD(snapshot_list, snapshot); /* newest first */
LIST_HEAD(volume_list, volume);
LIST_HEAD(volume_drop_list, volume_drop);
TAILQ_HEAD(watch_list, init_watch);

struct sandboxes {
	struct links *link;
	struct accounts *account;
	struct records *record;
	struct sandbox_table *table;
	struct warm_pool *warm_pool; /* NULL: disabled */
	struct memory memory;
	struct expiry *expiry;
	struct rules_link *rules;
	struct watch_list watches; /* most recently used first */
	uint32_t n_watches;
	struct templates templates;
	struct snapshot_list snapshots;
	struct volume_list volumes;
	struct volume_drop_list volume_drops; /* deletions in progress */
	struct departed_list departed; /* sandboxes that have left the table and whose final use is not reported yet */
	uint32_t n_departed;
	struct row_ends *row_ends; /* see front/sandbox/row.h */
	char host[BOOT_ID_SIZE];   /* boot id of the host, until it is written to the store; then "" */
	uint32_t max_sandboxes;
	uint32_t asks_left;    /* samples of usage that may still be asked for in this second */
	uint32_t volume_calls; /* requests for files of volumes, in progress or connecting */
	uint32_t starts;       /* starts in progress that a client waits for */
	uint32_t checkpoints;  /* checkpoints in progress */
	int hurry_fd;          /* see sandbox_hurry_open() */
	bool hurries;          /* paused sandboxes are to be written to disk now: see sandbox_hurry_look() */
	bool writes_first;     /* the server stops, and sandboxes are killed once the front has exited: as above */
	const struct sandbox_away_ops *away; /* NULL: these are the sandboxes of the main thread */
	void *away_user;
	/* Another thread serves requests into a sandbox that has stopped running: must end all of it before it returns.
	 * NULL: there are no other threads. */
	void (*on_stopped)(void *user, struct sandbox *sb);
	void *on_stopped_user;
	bool can_checkpoint;                            /* the memory of a sandbox can be saved to disk */
	char engine_why[ENGINE_KINDS][ENGINE_WHY_SIZE]; /* why it is not available; "": it is */
};
