/* SPDX-License-Identifier: Apache-2.0 */
/* service: a helper program that the warden starts without privileges and restarts when it exits.
 *
 * Each life gets a new SEQPACKET socketpair: the child's end is its fd 3, and end of file on it tells the child
 * that the warden is gone. Its options (ipc/settings.h) are fd 4, the same for all lives. Further fds follow from 5
 * on. The first restart is immediate; the following ones are
 * delayed more and more, up to a maximum, until a life has lasted for a while. A helper that served before it
 * exited was killed or crashed on a particular input. Its clients wait meanwhile (the warden holds the listening
 * sockets), so it is restarted after a short delay several times before the delay grows. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

struct loop;
struct service;

#define SERVICE_FDS 16

struct service_spec { /* copied; name, exe and run must stay valid as long as the service */
	const char *name;
	int exe_fd;      /* open, because the user it runs as may not be able to reach its path */
	const char *exe; /* that path */
	const char *run; /* passed as --run, which identifies the instance in a process list */
	const void *options;
	size_t options_size;
	uid_t uid;
	gid_t gid;
	int fds[SERVICE_FDS]; /* become 5, 6, ... */
	size_t n_fds;
	uint64_t delay_max_ms; /* between two lives; the maximum */
};

struct service_ops {
	void (*on_up)(void *user, int link_fd);       /* a life began; the callee owns the fd */
	void (*on_down)(void *user, const char *how); /* that life ended */
};

int service_new(struct loop *l, const struct service_spec *spec, const struct service_ops *ops, void *user,
    struct service **ret, struct err *e);
int service_start(struct service *s, struct err *e);
void service_restart(struct service *s); /* kills this life; the next one follows */
/* no next life; now: send SIGKILL, otherwise it was asked to exit by other means */
void service_stop(struct service *s, bool now);
void service_serves(struct service *s); /* this life has begun to serve */
/* delay before the next life, after that many short ones */
uint64_t service_delay_ms(unsigned failed, unsigned served, uint64_t max_ms);
bool service_running(const struct service *s);
pid_t service_pid(const struct service *s); /* 0: not running */
void service_free(struct service *s);       /* NULL is allowed; does not kill the process */
