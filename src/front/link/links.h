/* SPDX-License-Identifier: Apache-2.0 */
/* front/link/links: what connects the front to the rest of the machine: the loop, the stores, the warden and the other
 * processes. The floor that all others stand on; each has a pointer to it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "front/util/options.h"

struct agent_link;
struct certs;
struct loop;
struct store;
struct vault;
struct warden_link;

struct links {
	struct front_options opt;
	struct loop *loop;
	struct store *store;
	struct store *uploads; /* archives for builds, a file of its own */
	struct vault *vault;
	struct warden_link *warden;
	struct agent_link *agent;
	struct certs *certs;          /* NULL without TLS */
	uint32_t fds;                 /* how many this process may have; the shares of it are below */
	uint32_t idle;                /* idle connections into sandboxes */
	uint32_t ticks;               /* seconds since it serves */
	uint32_t requests;            /* under way */
	void (*on_quiet)(void *user); /* the last of them is over; set by the top, may be NULL */
	void *quiet_user;
	size_t most_requests; /* since memory was last given back */
	bool stopping;
};

void links_request_begun(struct links *l);
void links_request_over(struct links *l); /* one of l->requests is done */

/* A client must not be able to use up the fds: an answer of the warden that carries one could not be received. Half of
 * them are for the connections of clients, see front_max_conns(). */

/* Connections into sandboxes, for requests under way; */
static inline uint32_t links_max_exchanges(const struct links *l)
{
	return l->fds / 8;
}

/* ... and idle ones, kept for the next. */
static inline uint32_t links_max_idle(const struct links *l)
{
	return l->fds / 32;
}

/* ... and those on which init tells what happens. */
static inline uint32_t links_max_watches(const struct links *l)
{
	return l->fds / 32;
}

static inline uint32_t links_max_tunnels(const struct links *l)
{
	return l->fds / 16; /* two fds each */
}

/* Requests that atoll-agent has, each with a connection to it; those that it makes for them are counted there
 * (front/link/agent_link.c). */
static inline uint32_t links_max_agent_calls(const struct links *l)
{
	return l->fds / 16 < 1024 ? l->fds / 16 : 1024;
}

static inline uint32_t links_max_debug_conns(const struct links *l)
{
	return l->fds / 32; /* for each of the two ports */
}

/* Pipes for what is moved past us, two fds each. The kernel gives a user 16384 pages for all of them: 256 of 256 KiB,
 * and very small ones from then on. Without one a body is copied. */
static inline uint32_t links_max_pipes(const struct links *l)
{
	return l->fds / 128 < 128 ? l->fds / 128 : 128;
}

static inline uint32_t links_max_leaving(const struct links *l)
{
	return l->fds / 16; /* closed on our side, see stream_close_flushed() */
}
