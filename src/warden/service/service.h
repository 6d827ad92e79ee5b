/* SPDX-License-Identifier: Apache-2.0 */
/* service: a helper program that the warden starts without any power and starts again when it ends.
 *
 * Each life gets a fresh SEQPACKET socketpair: the child's end is its fd 3, and its end of file tells the child that
 * the warden is gone. Further fds follow from 4 on. The first restart is at once, the next ones wait longer, up to
 * a maximum, until a life has lasted for a while. One that served before it ended was killed or crashed at something
 * special: it is back after a moment some times in a row, since its clients wait (the warden holds the listening
 * sockets), before it waits longer, too. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

struct loop;
struct service;

#define SERVICE_FDS 16

struct service_spec { /* copied; what it points to must live as long as the service */
	const char *name;
	int exe_fd; /* opened program: the user it runs as may not reach its path */
	char *const *argv;
	uid_t uid;
	gid_t gid;
	int fds[SERVICE_FDS]; /* become 4, 5, ... */
	size_t n_fds;
	uint64_t delay_max_ms; /* between two lives */
};

struct service_ops {
	void (*on_up)(void *user, int link_fd);       /* a life began; the fd is the callee's */
	void (*on_down)(void *user, const char *how); /* that life ended */
};

struct service *service_new(struct loop *l, const struct service_spec *spec, const struct service_ops *ops, void *user);
int service_start(struct service *s, struct err *e);
void service_restart(struct service *s); /* ends this life; the next one follows by itself */
/* no next life; now: SIGKILL, else it has been asked by other means */
void service_stop(struct service *s, bool now);
void service_serves(struct service *s); /* this life does its work */
/* before the next life, after so many short ones */
uint64_t service_delay_ms(unsigned failed, unsigned served, uint64_t max_ms);
bool service_running(const struct service *s);
pid_t service_pid(const struct service *s); /* 0: none at the moment */
void service_free(struct service *s);       /* NULL is fine; does not end the process */
