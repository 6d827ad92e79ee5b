/* SPDX-License-Identifier: Apache-2.0 */
/* front/proxy/lane_impl: what lane.c and lanes.c share. */
#pragma once

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>

#include "base/err.h"
#include "front/account/accounts.h"
#include "front/link/links.h"
#include "front/proxy/lane.h"
#include "front/proxy/lanes.h"
#include "front/proxy/proxies.h"
#include "front/proxy/replica.h"
#include "front/record/records.h"
#include "front/sandbox/sandboxes.h"
#include "http/server.h"
#include "loop/mailbox.h"

struct loop;
struct mailbox;
struct timer;

/* One thread. `inbox` and the members before it are set before it starts; the atomics are read by the main thread; all
 * that follows is of the thread alone. */
struct lane {
	struct lanes *all;
	pthread_t thread;
	bool has_thread;
	struct loop *loop;
	struct mailbox *inbox;
	atomic_size_t conns;
	_Atomic uint64_t evicted;
	/* The floors as this thread has them: the same settings, counters and audit trail, and sandboxes of its own. */
	struct links link;
	struct accounts account;
	struct records record;
	struct sandboxes sandbox;
	struct proxies proxy;
	struct http_server *server;
	struct timer *tick;
};

struct lanes {
	struct proxies *proxies; /* of the main thread */
	/* Of the main thread: connections and questions; and what is to be recorded, which it also looks at between. */
	struct mailbox *inbox, *notes;
	atomic_size_t notes_bytes; /* waiting in the second */
	atomic_uint handed;        /* connections on their way, in either direction */
	atomic_bool crowded;       /* they were too many, and not gone since */
	struct http_server *server;
	const struct http_server_ops *serve; /* what each lane does with a request; user: struct lane */
	int (*confine)(struct err *e);
	sem_t done; /* a lane has done what the main thread waits for */
	struct err err;
	unsigned n;
	struct lane lanes[];
};

int lane_init(struct lane *la, struct lanes *all);
int lane_start(struct lane *la, struct err *e);
void lane_free(struct lane *la); /* in the main thread, after its end */

/* What the main thread sends to a lane, each as a message. */
void lane_listen(struct lane *la, int fd, struct http_secure *secure, bool both);
void lane_hand(struct lane *la, const struct http_handed *h);
void lane_grant(struct lane *la, struct replica_facts *f);
void lane_revoke(struct lane *la, const char *id); /* returns when the lane has ended all that concerns it */
void lane_stop(struct lane *la);
void lane_quit(struct lane *la);
void lane_connected(struct lane *la, struct lane_ask *a, const struct warden_reply *re);

/* What a lane sends to the main thread. */
void lanes_hand(struct lanes *ls, struct http_handed *h); /* closes it above the limit of those on their way */
void lanes_ask(struct lane *la, struct lane_ask *a, const char *id, const char *request);
void lanes_quiet(struct lanes *ls);
void lanes_arrived(struct lanes *ls);      /* a connection that was on its way; by any thread */
bool lanes_behind(const struct lanes *ls); /* the main thread has much to record: no lane should begin a request */
extern const struct record_away_ops lanes_record_ops;   /* user: struct lanes */
extern const struct sandbox_away_ops lanes_sandbox_ops; /* likewise */
