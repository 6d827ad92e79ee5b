/* SPDX-License-Identifier: Apache-2.0 */
/* front/pool: finished sandboxes that nobody has used, for the next who ask for a plain one of their template.
 *
 *	pool.c		how many there should be, who gets one, when the next is made
 *	pool_member.c	one of them, from its start until it is given away or ended
 *	demand.c	how many were asked for lately
 *
 * A member has been started like any other sandbox, under the id that it will keep; its init has been told the defaults and its
 * warm interpreters are up. It is in no table and in no row of the store: nobody can reach it, and a front that starts ends
 * what it does not know. What has been given away never comes back. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ipc/msg.h"

struct buf;
struct front;
struct pool;
struct spec;

struct pool *pool_new(struct front *f);		/* knows the templates; opens what it reads later */
void pool_free(struct pool *p);			/* the members live on; NULL is fine, here and below */
void pool_begin(struct pool *p);
void pool_stop(struct pool *p);			/* ends them all; each counts as a request until the warden has heard */
void pool_tick(struct pool *p);			/* once a second */

struct pool_gift {
	char id[ID_SIZE];
	int fd;				/* a connection to its init, or -1 */
	uint64_t cpu_ns;		/* what it has used before it was somebody's */
};

/* A member that is what sp asks for. It may have died a moment ago. */
bool pool_take(struct pool *p, const struct spec *sp, struct pool_gift *ret);
void pool_taken(struct pool *p, const struct spec *sp, bool good);	/* it is in use now, or was dead */

bool pool_exited(struct pool *p, const char *id);	/* true: it was a member */
/* Of a template that was built just now one is made ready; what was kept as `from` is about to be gone. */
void pool_prime(struct pool *p, const struct spec *sp);
void pool_forget(struct pool *p, const char *from);
void pool_make_room(struct pool *p);			/* another sandbox is about to start: the maximum is for those in use */
/* Sandboxes that came out of it, that would have, and that are ready now (or NULL); without a pool: as they are. */
void pool_counts(const struct pool *p, uint64_t *hits, uint64_t *misses, uint64_t *ready);
void pool_put_metrics(struct pool *p, struct buf *out);
