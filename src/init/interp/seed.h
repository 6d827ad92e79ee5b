/* SPDX-License-Identifier: Apache-2.0 */
/* interp_seed: our line to a copy of the template's warm Python, which forks runtime processes for us.
 *
 * There may be one from the start: a socket that we were given, whose other end a process holds that is about to join,
 * or has joined, the sandbox. Requests may be sent before it listens. It is no more to be trusted than any process in
 * here; when it ends, or does not answer for a while, runtimes are started the ordinary way. Requests and answers are
 * one packet each, in the same order:
 *
 *	request		u32 id, uid, gid, number of groups, groups; with 4 fds: what become 0, 1, 2 and 3
 *	answer		u32 id, i32 pid or -errno; that process is a child of ours */
#pragma once

#include <stdint.h>
#include <sys/types.h>

struct init;
struct timer;
struct watch;

/* from request to answer, or it is given up: a cold start takes a second or two */
#define SEED_ANSWER_MS 5000

struct seed {
	int fd; /* -1: there is none, or none any more */
	struct watch *watch;
	struct timer *timer; /* armed while an answer is due */
	uint32_t last_id;
};

struct seed_request {
	uid_t uid;
	gid_t gid;
	const gid_t *groups;
	size_t n_groups;
	int fds[4]; /* stay the caller's */
};

void seed_open(struct init *in, int fd); /* -1: without */
void seed_close(struct init *in);        /* it ends when it sees that; what it was asked for is lost */

/* The answer comes by kernel_seeded(); if the seed ends or is given up before, kernels_unseeded(). -ENOTCONN: there is
 * none. */
int seed_ask(struct init *in, const struct seed_request *rq, uint32_t *ret_id);
