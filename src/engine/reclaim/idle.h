/* SPDX-License-Identifier: Apache-2.0 */
/* idle: which sandboxes are idle, from the processor time that they have used. No I/O. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define IDLE_ID_SIZE 24
#define IDLE_AGAIN_BYTES (1u << 20) /* a sandbox is worth another reclaim if it has grown by this, */
#define IDLE_MUCH_BYTES \
	(4u << 20) /* or, after much longer, if so much was left: pages that something had in use then */
#define IDLE_LONGER 8

struct idle_unit {
	char id[IDLE_ID_SIZE]; /* "": none */
	uint64_t cpu_ns, seen_ms;
	uint64_t busy_ms;              /* when it was last seen busy, or first seen */
	uint64_t given_ms, left_bytes; /* when its memory was last reclaimed (0: never), and what was left */
};

struct idle_table {
	struct idle_unit *now, *old; /* of this round and of the last; by the hash of the id */
	size_t size, n, n_old;
};

/* -ENOMEM. */
int idle_open(struct idle_table *t, size_t most);
void idle_close(struct idle_table *t);

void idle_round(struct idle_table *t); /* begins a round: what it does not see is forgotten with the next one */
/* NULL: the id is too long, or the table is full. The pointer is valid until the next round begins. */
struct idle_unit *idle_see(struct idle_table *t, const char *id, uint64_t now_ms, uint64_t cpu_ns);
struct idle_unit *idle_next(struct idle_table *t, size_t *at); /* *at begins with 0; NULL: no more */

/* Notes processor time. True if it has used so much since the last time that it is busy. */
bool idle_used(struct idle_unit *u, uint64_t now_ms, uint64_t cpu_ns);
/* Whether its memory may be reclaimed, if it has mem_bytes. */
bool idle_is_due(const struct idle_unit *u, uint64_t now_ms, uint64_t after_ms, uint64_t mem_bytes);
