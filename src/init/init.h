/* SPDX-License-Identifier: Apache-2.0 */
/* init: state that the parts of atoll-init share: the loop, the defaults set by /init, the tables of live objects. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "init/env.h"
#include "init/events.h"
#include "init/files/watchers.h"
#include "init/gate/gate.h"
#include "init/interp/state.h"
#include "init/oom.h"
#include "init/pressure.h"
#include "init/process/procs.h"

struct loop;
struct http_server;
struct timer;

#define ENVD_VERSION "0.6.13" /* the envd API level that clients use for feature checks */

struct init {
	struct loop *loop;
	struct http_server *server;
	struct env env;
	char *path;    /* PATH of every command */
	char *sandbox; /* sandbox id; NULL: not set yet */
	char *default_user;
	char *default_workdir; /* NULL: the user's home */
	const char *run_dir;   /* directory of the .E2B_* files */
	bool any_peer;         /* tests only: also accept peers inside our pid namespace */
	bool is_gated;         /* the kernel is not the host's, and connections come through the gate */
	bool set_up;           /* an /init has been applied */
	uint64_t init_us;      /* timestamp of the newest /init that was applied */
	struct procs procs;
	struct gate gate;
	struct events events;
	struct oom oom;
	struct pressure pressure; /* if is_gated */
	struct watchers watchers;
	struct interp interp;
	struct timer *volume_timer; /* volume server only: checks whether its connection has ended */
};
