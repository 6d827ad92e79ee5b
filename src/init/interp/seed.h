/* SPDX-License-Identifier: Apache-2.0 */
/* interp_seed: the connection to the seed, a copy of the template's warm Python that forks runtime processes for init.
 *
 * If there is a seed, init gets its socket at the start. The process at the other end is about to join the sandbox or
 * has joined it; requests may be sent before it listens. The seed is no more trusted than any other process in the
 * sandbox. When it ends, or does not answer in time, runtimes are started by exec. Requests and answers are one packet
 * each, in the same order:
 *
 *	request		u32 id, uid, gid, number of groups, groups; with 4 fds that become 0, 1, 2 and 3
 *	answer		u32 id, i32 pid or -errno; that process is a child of init */
#pragma once

#include <stdint.h>
#include <sys/types.h>

struct loop;
struct timer;
struct watch;

/* Time for an answer, after which the seed is abandoned. A cold start takes a second or two. */
#define SEED_ANSWER_MS 5000

struct seed_ops {
	void (
	    *on_forked)(void *user, uint32_t id, pid_t pid); /* the answer to that request; pid: -errno if it failed */
	void (*on_end)(void *user); /* it has ended or was abandoned: outstanding requests are lost */
};

struct seed {
	int fd; /* -1: no seed, or no longer */
	const struct seed_ops *ops;
	void *user;
	struct watch *watch;
	struct timer *timer; /* armed while an answer is outstanding */
	uint32_t last_id;
};

struct seed_request {
	uid_t uid;
	gid_t gid;
	const gid_t *groups;
	size_t n_groups;
	int fds[4]; /* remain owned by the caller */
};

/* fd: -1 without a seed. Takes over fd. */
void seed_open(struct seed *s, struct loop *loop, int fd, const struct seed_ops *ops, void *user);
void seed_close(struct seed *s); /* the seed then exits; calls on_end() */

/* on_forked() gets the answer, unless on_end() comes before. -ENOTCONN: there is no seed. */
int seed_ask(struct seed *s, const struct seed_request *rq, uint32_t *ret_id);
