/* SPDX-License-Identifier: Apache-2.0 */
/* store/sandboxes: what the front must know about a sandbox after a restart. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct store;

enum row_state {          /* stored in the file: never renumber */
	ROW_STARTING = 0, /* its id has not been returned to the client yet */
	ROW_RUNNING = 1,
	ROW_PAUSED = 2,
	ROW_ENDED = 3,
};

struct sandbox_row { /* strings are borrowed; optional ones may be NULL */
	const char *id, *team, *template_id, *template_name, *template_key;
	const char *build;  /* of the template; NULL: the row is older than the column */
	const char *parent; /* the sandbox that it is a copy of; NULL: none */
	enum row_state state;
	uint64_t created_ms, started_us;
	uint64_t end_ms;    /* running: when it expires; paused: when it was paused */
	uint64_t active_ms; /* last request into it */
	uint32_t timeout_s, flags;
	struct row_limits {
		uint64_t mem_bytes, disk_bytes, swap_bytes, io_bytes_s, egress_bytes, egress_bytes_s;
		uint32_t cpu_permille, pids, io_ops_s, open_files;
	} limits;
	const char *key;     /* id of the API key that created it */
	uint64_t sent_bytes; /* in earlier runs */
	const char *envd_token, *traffic_token;
	const char *metadata, *env_vars, *network; /* JSON objects */
	const char *volumes;                       /* JSON array */
	const char *kept_name;                     /* paused: the name of its saved disk and memory */
	uint32_t kept;
};

int sandboxes_add(struct store *s, const struct sandbox_row *r, struct err *e);
/* updates state, started_us, end_ms, flags, kept_name, kept, sent_bytes */
int sandboxes_set(struct store *s, const struct sandbox_row *r, struct err *e);

int sandboxes_set_network(struct store *s, const char *id, uint32_t flags, const char *network, struct err *e);
int sandboxes_set_limits(struct store *s, const char *id, const struct row_limits *l, struct err *e);
int sandboxes_set_active(struct store *s, const char *id, uint64_t active_ms, struct err *e);

/* The row stays as history, without its tokens and variables. */
int sandboxes_end(struct store *s, const char *id, uint64_t ended_ms, const char *reason, struct err *e);

/* Sandboxes that have not ended, in order of creation. A negative return value of fn ends the walk and is
 * returned. */
int sandboxes_each(struct store *s, int (*fn)(void *user, const struct sandbox_row *r), void *user, struct err *e);

/* When and why a sandbox of that team ended. -ENOENT: unknown, or it has not ended. */
#define END_REASON_SIZE 64
int sandboxes_ended(struct store *s, const char *id, const char *team, uint64_t *ret_ms,
    char ret_reason[END_REASON_SIZE], struct err *e);

/* Deletes rows of sandboxes that ended before that time; returns how many. */
int sandboxes_prune(struct store *s, uint64_t ended_before_ms, struct err *e);
