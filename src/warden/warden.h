/* SPDX-License-Identifier: Apache-2.0 */
/* warden: the state of atolld that its files share. One instance, one loop, one front at a time. */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/types.h>

#include "engine/engine.h"
#include "engine/slot.h"
#include "warden/config.h"
#include "warden/proto.h"

#define SLOTS_MAX SLOT_MAX
#define UNIT_BUCKETS 4096

struct bell_job;
struct link;
struct loop;
struct pairs;
struct unit;
struct service;
struct sigwatch;
struct timer;
struct volume_job;
struct warm;
struct watch;

LIST_HEAD(unit_list, unit);
LIST_HEAD(keeper_list, keeper);

struct door { /* a listening socket that the front serves */
	int fd;
	enum door_kind kind;
};

struct warden {
	struct config cfg;
	struct loop *loop;
	const struct engine_ops *ops;
	struct engine *engine;
	struct warm *warm;
	struct pairs *pairs; /* NULL: none are kept */

	uint32_t instance;
	int registry_fd, pid_fd; /* held locks */
	struct door doors[DOORS_MAX];
	size_t n_doors;
	int console_fd;              /* directory of the console's files, for the front; -1: none */
	int dns_udp, dns_tcp, proxy; /* on the gateway address */
	int records_dir;
	char ready_url[96], tls_url[96]; /* the first of each kind; "": none */
	uint16_t names_port;             /* the port by which sandboxes reach them; 0: they do not */
	/* the domain of sandbox host names, with the port unless it is the default */
	char domain[160];
	/* the same for all lives of the front, so that TLS sessions survive a restart */
	uint8_t ticket_secret[TICKET_SECRET_SIZE];

	struct service *front, *egress, *agent;
	struct link *link; /* to the front; NULL while there is none */
	struct egress_state {
		void (*told)(struct unit *sb); /* its policy was acknowledged */
		struct link *link;             /* NULL while there is none */
		uint32_t sent;                 /* number of the last message */
		uint64_t asked_ms;             /* when the oldest unanswered message was sent; 0: none */
		struct unit_list waiting;      /* whose policy is not acknowledged yet */
	} eg;
	struct agent_state {
		struct link *link;   /* NULL while there is none */
		uint32_t sent;       /* number of the last message */
		struct timer *again; /* to connect it with the same front again */
	} ag;
	struct refusals_state {
		int fd; /* the kernel's audit socket; -1: none */
		int exe_fd;
		char exe[PATH_MAX];
		struct service *service;
		struct link *link;                   /* NULL while there is none */
		uint64_t silent_until_ms[SLOTS_MAX]; /* 0: not silenced */
		bool blocked_failed;                 /* already logged */
		uint64_t logged_ms[SLOTS_MAX];       /* when it was last logged */
	} refusals;
	struct webhooks_state {
		int exe_fd;
		struct service *service; /* NULL: nothing is delivered */
		struct link *link;       /* NULL while there is none */
	} webhooks;
	struct oidc_state {
		int exe_fd, secret_fd;   /* -1: there is none */
		struct service *service; /* NULL: no provider is configured */
		struct link *link;       /* NULL while there is none */
	} oidc;
	uint64_t life; /* counts fronts: answers to an earlier one are dropped */
	struct proto proto;
	bool ready;             /* a front has served */
	unsigned failed_fronts; /* that exited before any has served */
	int notify_fd;          /* to systemd, or whoever waits for the start; -1: nobody does */

	struct unit *slots[SLOTS_MAX];
	struct unit_list units, by_id[UNIT_BUCKETS]; /* all of them, and by the hash of their id */
	struct keeper_list keepers;
	uint32_t n_slots, n_sandboxes, next_slot;
	uint32_t n_watched, max_watched; /* for out-of-memory kills; descriptors may not suffice for all */
	struct unit *first_queued, **last_queued;
	uint32_t n_networking;    /* children that change a sandbox's network */
	uint32_t next_networking; /* the slot to serve next */
	uint32_t n_builders, max_builders;

	struct {
		TAILQ_HEAD(, unit) waiting; /* that have rung */
		struct bell_job *job;       /* NULL: none runs */
		struct timer *timer;        /* for the next */
		uint64_t not_before_ms;
		uint32_t n_open, max_open; /* descriptors may not suffice for all */
		bool missing;              /* one could not be opened */
	} bells;

	struct volume_job *volume_jobs[ENGINE_VOLUME_PLACES]; /* programs that serve volumes */
	uint32_t n_volume_sets;                               /* children that create or change volumes */

	struct pull_state {
		int exe_fd;  /* -1: the program is missing */
		int options; /* sealed file, for each of them */
		uint32_t n;  /* that run */
	} pull;

	bool stopping;
	bool ended_all; /* the units that the front has left were killed */
	int exit_code;
	struct timer *front_timer, *tick_timer, *stop_timer;
	struct sigwatch *on_term, *on_int, *on_quit, *on_hup;
};

/* main.c: called whenever something has ended. Stops the loop once a stopping warden has nothing left to wait
 * for. */
void warden_settle(struct warden *w);
