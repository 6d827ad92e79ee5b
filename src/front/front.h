/* SPDX-License-Identifier: Apache-2.0 */
/* front: the object that holds the state of all floors.
 *
 *	main.c -> boot.c: hello and list from the warden, reconcile with the store, confine, serve
 *	dispatch.c: a request is for the API (routes.c -> a handler in api) or for a port of a sandbox (proxy.c)
 *	sandbox.c: the lifecycle of a sandbox, over link/box.c, which asks the warden for each step */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "front/account/accounts.h"
#include "front/api/api.h"
#include "front/console/console.h"
#include "front/link/links.h"
#include "front/proxy/proxies.h"
#include "front/record/records.h"
#include "front/sandbox/sandboxes.h"
#include "front/template/builds.h"
#include "front/util/envd.h"

struct boot;
struct sigwatch;
struct timer;

struct door {   /* a listening socket passed by the warden */
	int fd; /* -1 once the server owns it */
	bool is_tls, is_plain_too;
	uint16_t debug_port; /* not 0: connections go to that port of the debug sandbox */
};

struct front {
	/* The floors, from the bottom up: see front_connect(). */
	struct links link;
	struct accounts account;
	struct records record;
	struct sandboxes sandbox;
	struct builds build;
	struct proxies proxy;
	struct console console;
	struct api api;

	struct boot *boot;        /* NULL once the front serves */
	struct timer *tick;       /* once a second: usage samples, idle connections */
	uint64_t writes_until_ms; /* while stopping: then the front exits, whatever memory is not written */
	struct timer *grace;      /* while stopping */
	struct sigwatch *on_term, *on_int;
	size_t most_conns; /* maximum since memory was last returned to the kernel */
	struct door doors[DOORS_MAX];
	size_t n_doors;
	int exit_code;
	bool lost;       /* the connection to the warden is lost */
	bool unanswered; /* at the end: requests to the warden are without a reply */
};

/* Half of the fds; another 16th if there are no debug ports, which would use it. */
static inline uint32_t front_max_conns(const struct front *f)
{
	return f->link.fds / 2 + (f->proxy.debug ? 0 : f->link.fds / 16);
}

int front_exit_code(const struct err *e); /* of a start that failed with that error */
void front_connect(struct front *f);      /* sets the pointers of each floor to the floors below it */
void front_stop(struct front *f);         /* finishes the requests in progress, then stops the loop */
void front_done(struct front *f);         /* frees everything; sandboxes keep running */
