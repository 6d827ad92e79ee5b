/* SPDX-License-Identifier: Apache-2.0 */
/* front/sandbox/sandboxes: all sandboxes there are, and what they are made from: templates, snapshots, volumes. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/boot_id.h"
#include "front/sandbox/memory.h"
#include "front/sandbox/snapshots.h"
#include "front/sandbox/template.h"
#include "front/sandbox/volumes.h"

struct accounts;
struct departed;
struct expiry;
struct init_watch;
struct links;
struct records;
struct row_ends;
struct rules_link;
struct sandbox_table;
struct warm_pool;

LIST_HEAD(departed_list, departed);
TAILQ_HEAD(watch_list, init_watch);

struct sandboxes {
	struct links *link;
	struct accounts *account;
	struct records *record;
	struct sandbox_table *table;
	struct warm_pool *warm_pool; /* NULL: without */
	struct memory memory;
	struct expiry *expiry;
	struct rules_link *rules;
	struct watch_list watches; /* listening to init, used last first */
	uint32_t n_watches;
	struct templates templates;
	struct snapshot_list snapshots;
	struct volume_list volumes;
	struct departed_list departed; /* sandboxes whose last count is still to come */
	uint32_t n_departed;
	struct row_ends *row_ends; /* see front/sandbox/row.h */
	char host[BOOT_ID_SIZE];   /* the start of it that the rows are of, if that is not written yet; else "" */
	uint32_t max_sandboxes;
	uint32_t volume_calls; /* under way, or being connected */
	uint32_t starts;       /* under way that somebody waits for */
	uint32_t checkpoints;  /* under way */
	int hurry_fd;          /* see sandbox_hurry_open() */
	bool hurries;          /* what is paused is to be written to disk now: see sandbox_hurry_look() */
	bool writes_first;     /* the server stops, and sandboxes are killed once we have exited: likewise */
	bool can_checkpoint;   /* the memory of a sandbox can be saved to disk */
};
