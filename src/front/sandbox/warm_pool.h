/* SPDX-License-Identifier: Apache-2.0 */
/* front/sandbox/warm_pool: started sandboxes that no client uses yet, ready for the next request for a plain
 * sandbox of their template.
 *
 *	warm_pool.c	how many to hold, which request gets one, when to start the next
 *	warm_member.c	one of them, from its start until it is taken or killed
 *	demand.c	how many were requested recently
 *
 * A member is started like any other sandbox, under its final id. Its init has the default settings, and its warm
 * interpreters are running. It is neither in the sandbox table nor in the store, so no client can reach it, and a
 * new front kills it at its start as unknown. A member that was taken never returns to the pool. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ipc/msg.h"

struct buf;
struct sandboxes;
struct warm_pool;
struct spec;

struct warm_pool *warm_pool_new(struct sandboxes *all); /* sets up one kind for each template */
void warm_pool_free(struct warm_pool *p);               /* does not kill the members; p may be NULL, here and below */
void warm_pool_begin(struct warm_pool *p);
/* Kills all members. Each counts as a request until the warden has answered, so that the front waits for it. */
void warm_pool_stop(struct warm_pool *p);
void warm_pool_tick(struct warm_pool *p); /* once a second */

struct warm_pool_gift {
	char id[ID_SIZE];
	int fd;          /* a connection to its init, or -1 */
	uint64_t cpu_ns; /* CPU time used before it was taken */
};

/* Takes a member that fits sp. It may have died a moment ago. */
bool warm_pool_take(struct warm_pool *p, const struct spec *sp, struct warm_pool_gift *ret);
/* good: it is in use now; else it was dead */
void warm_pool_taken(struct warm_pool *p, const struct spec *sp, bool good);

bool warm_pool_exited(struct warm_pool *p, const char *id); /* true: id was a member */
/* warm_pool_prime(): starts one member of a template that was just built. warm_pool_forget(): kills the members
 * that use the saved state `from`, which is about to be deleted. */
void warm_pool_prime(struct warm_pool *p, const struct spec *sp);
void warm_pool_forget(struct warm_pool *p, const char *from);
/* Called before another sandbox starts. Kills a member if the maximum would be exceeded, because sandboxes in use
 * come first. */
void warm_pool_make_room(struct warm_pool *p);
/* Adds the number of requests served from the pool, of those that found no member, and of ready members (ready may
 * be NULL). Changes nothing without a pool. */
void warm_pool_counts(const struct warm_pool *p, uint64_t *hits, uint64_t *misses, uint64_t *ready);
void warm_pool_put_metrics(struct warm_pool *p, struct buf *out);
