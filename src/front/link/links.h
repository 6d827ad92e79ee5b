/* SPDX-License-Identifier: Apache-2.0 */
/* front/link/links: the connections of the front to the rest of the machine: the loop, the stores, the warden and
 * the other processes. All other floors build on this one and have a pointer to it. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "front/util/options.h"

struct agent_link;
struct certs;
struct deletion;
struct loop;
struct start_queue;
struct store;
struct vault;
struct warden_link;

struct links {
	struct front_options opt;
	struct loop *loop;
	struct store *store;
	struct store *uploads; /* archives for builds, in a separate file */
	struct vault *vault;
	struct warden_link *warden;
	struct start_queue *starts; /* NULL until the warden has answered the hello */
	struct agent_link *agent;
	LIST_HEAD(, deletion) deletions; /* of saved states, under way */
	struct certs *certs;             /* NULL without TLS */
	uint32_t fds;                    /* limit of this process; the functions below divide it up */
	uint32_t idle;                   /* number of idle connections into sandboxes */
	uint32_t ticks;                  /* seconds since the front began to serve */
	_Atomic uint32_t requests;       /* requests in progress; read by other threads */
	void (*on_quiet)(void *user);    /* called when the last request has ended; set by front.c, may be NULL */
	void *quiet_user;
	size_t most_requests; /* maximum since memory was last returned to the kernel */
	bool stopping;
};

void links_request_begun(struct links *l);
void links_request_over(struct links *l); /* one of l->requests has ended */

/* Clients must not be able to use up the fds: the front could no longer receive an fd from the warden. Half of
 * them are for connections of clients, see front_max_conns(). */

/* Connections into sandboxes for requests in progress. */
static inline uint32_t links_max_exchanges(const struct links *l)
{
	return l->fds / 8;
}

/* Idle connections into sandboxes, for the next request. */
static inline uint32_t links_max_idle(const struct links *l)
{
	return l->fds / 32;
}

/* Connections on which init reports process events. */
static inline uint32_t links_max_watches(const struct links *l)
{
	return l->fds / 32;
}

/* Connections of clients on their way from one thread to another. */
static inline uint32_t links_max_handed(const struct links *l)
{
	return l->fds / 16;
}

static inline uint32_t links_max_tunnels(const struct links *l)
{
	return l->fds / 16; /* two fds each */
}

/* Requests that atoll-agent handles, each with one connection to it. The calls that it makes for them have a limit
 * of their own (front/link/agent_link.c). */
static inline uint32_t links_max_agent_calls(const struct links *l)
{
	return l->fds / 16 < 1024 ? l->fds / 16 : 1024;
}

static inline uint32_t links_max_debug_conns(const struct links *l)
{
	return l->fds / 32; /* for each of the two ports */
}

/* Pipes for splice, two fds each. The kernel allows a user 16384 pages in all pipes: that is 256 pipes of 256 KiB;
 * further ones are very small. Without a pipe a body is copied. */
static inline uint32_t links_max_pipes(const struct links *l)
{
	return l->fds / 128 < 128 ? l->fds / 128 : 128;
}

static inline uint32_t links_max_leaving(const struct links *l)
{
	return l->fds / 16; /* closed by the front, see stream_close_flushed() */
}
