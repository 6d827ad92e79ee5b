/* SPDX-License-Identifier: Apache-2.0 */
/* front/sandbox/warm_pool: finished sandboxes that nobody has used, for the next who ask for a plain one of their
 * template.
 *
 *	warm_pool.c		how many there should be, who gets one, when the next is made
 *	warm_member.c	one of them, from its start until it is given away or ended
 *	demand.c	how many were asked for lately
 *
 * A member has been started like any other sandbox, under the id that it will keep; its init has been told the defaults
 * and its warm interpreters are up. It is in no table and in no row of the store: nobody can reach it, and a front that
 * starts ends what it does not know. What has been given away never comes back. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ipc/msg.h"

struct buf;
struct front;
struct warm_pool;
struct spec;

struct warm_pool *warm_pool_new(struct front *f); /* knows the templates; opens what it reads later */
void warm_pool_free(struct warm_pool *p);         /* the members live on; NULL is fine, here and below */
void warm_pool_begin(struct warm_pool *p);
/* ends them all; each counts as a request until the warden has heard */
void warm_pool_stop(struct warm_pool *p);
void warm_pool_tick(struct warm_pool *p); /* once a second */

struct warm_pool_gift {
	char id[ID_SIZE];
	int fd;          /* a connection to its init, or -1 */
	uint64_t cpu_ns; /* what it has used before it was somebody's */
};

/* A member that is what sp asks for. It may have died a moment ago. */
bool warm_pool_take(struct warm_pool *p, const struct spec *sp, struct warm_pool_gift *ret);
void warm_pool_taken(struct warm_pool *p, const struct spec *sp, bool good); /* it is in use now, or was dead */

bool warm_pool_exited(struct warm_pool *p, const char *id); /* true: it was a member */
/* Of a template that was built just now one is made ready; what was saved as `from` is about to be deleted. */
void warm_pool_prime(struct warm_pool *p, const struct spec *sp);
void warm_pool_forget(struct warm_pool *p, const char *from);
/* another sandbox is about to start: the maximum is for those in use */
void warm_pool_make_room(struct warm_pool *p);
/* Sandboxes that came out of it, that would have, and that are ready now (or NULL); without a pool: as they are. */
void warm_pool_counts(const struct warm_pool *p, uint64_t *hits, uint64_t *misses, uint64_t *ready);
void warm_pool_put_metrics(struct warm_pool *p, struct buf *out);
