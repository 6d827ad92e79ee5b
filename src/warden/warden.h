/* SPDX-License-Identifier: Apache-2.0 */
/* warden: the state of atolld that its files share. One instance, one loop, one front at a time. */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "engine/engine.h"
#include "warden/config.h"
#include "warden/proto.h"

#define SLOTS_MAX 2000
#define DOORS_MAX 12 /* listening sockets for clients */

struct link;
struct loop;
struct unit;
struct service;
struct sigwatch;
struct timer;
struct volume_job;
struct warm;
struct watch;

struct door { /* a listening socket that the front serves */
	int fd;
	const char *kind; /* what the front is told it is for: "http", "https" */
};

struct warden {
	struct config cfg;
	struct loop *loop;
	const struct engine_ops *ops;
	struct engine *engine;
	struct warm *warm;

	uint32_t instance;
	int registry_fd, pid_fd; /* held locks */
	struct door doors[DOORS_MAX];
	size_t n_doors;
	int dns_udp, dns_tcp, proxy; /* on the gateway address */
	int records_dir;
	char ready_url[96], tls_url[96]; /* of the first of each kind; "": none */
	uint16_t names_port;             /* by which sandboxes reach them; 0: they do not */
	/* below which sandboxes have names, with the port if it is not the usual one */
	char domain[160];
	/* the same for all lives of the front, so that TLS sessions outlive them */
	uint8_t ticket_secret[TICKET_SECRET_SIZE];

	struct service *front, *egress, *agent;
	struct link *link; /* to the front; NULL while there is none */
	struct egress_state {
		struct link *link; /* NULL while there is none */
		uint32_t sent;     /* number of the last message */
		uint64_t asked_ms; /* since when an answer is missing; 0: none is */
	} eg;
	struct agent_state {
		struct link *link;   /* NULL while there is none */
		uint32_t sent;       /* number of the last message */
		struct timer *again; /* to be introduced to the same front once more */
	} ag;
	struct refusals_state {
		int fd; /* what the kernel tells; -1: nothing */
		int exe_fd;
		char exe[PATH_MAX];
		struct service *service;
		struct link *link;                   /* NULL while there is none */
		uint64_t silent_until_ms[SLOTS_MAX]; /* 0: it is heard */
		bool blocked_failed;                 /* and the log knows it */
		uint64_t logged_ms[SLOTS_MAX];       /* when it was last told of */
	} refusals;
	struct webhooks_state {
		int exe_fd;
		struct service *service; /* NULL: nothing is delivered */
		struct link *link;       /* NULL while there is none */
	} webhooks;
	uint64_t life; /* which front: answers to an earlier one go nowhere */
	struct proto proto;
	bool ready;             /* a front has said hello */
	unsigned failed_fronts; /* that ended before any was ready */

	struct unit *slots[SLOTS_MAX];
	uint32_t n_slots, n_sandboxes, next_slot;
	struct unit *first_queued, **last_queued;
	uint32_t n_networking;    /* children that change what a sandbox may reach */
	uint32_t next_networking; /* the slot whose turn is next */
	uint32_t n_builders, max_builders;

	struct volume_job *volume_jobs[ENGINE_VOLUME_PLACES]; /* programs that serve volumes, by their places */
	uint32_t n_volume_sets;                               /* children that make or change volumes */

	uint32_t n_pulls; /* programs that fetch images */

	bool stopping;
	int exit_code;
	struct timer *hello_timer, *tick_timer, *stop_timer;
	struct sigwatch *on_term, *on_int, *on_hup;
};

/* main.c: called whenever something ended; stops the loop once a stopping warden has nothing left to wait for. */
void warden_settle(struct warden *w);
