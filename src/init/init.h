/* SPDX-License-Identifier: Apache-2.0 */
/* init: what the parts of atoll-init share: the loop, the defaults that /init gives, the tables of live things. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "init/env.h"
#include "init/events.h"
#include "init/files/watchers.h"
#include "init/interp/interp.h"
#include "init/oom.h"
#include "init/process/process.h"

struct loop;
struct http_server;
struct timer;

#define ENVD_VERSION "0.6.13" /* the envd API level that the clients' feature gates look at */

struct init {
	struct loop *loop;
	struct http_server *server;
	struct env env;
	char *path;    /* PATH of every command */
	char *sandbox; /* its id; NULL: not told yet */
	char *default_user;
	char *default_workdir; /* NULL: the user's home */
	const char *run_dir;   /* where the .E2B_* files go */
	bool any_peer;         /* tests only: also peers inside our pid namespace */
	bool set_up;           /* an /init has been applied */
	uint64_t init_us;      /* timestamp of the newest /init that was applied */
	struct procs procs;
	struct events events;
	struct oom oom;
	struct watchers watchers;
	struct interp interp;
	struct timer *volume_timer; /* of a server of a volume: has its connection ended? */
};
