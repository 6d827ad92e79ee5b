/* SPDX-License-Identifier: Apache-2.0 */
/* interp_seed: connections to copies of the template's warm Python, which become runtime processes of init or fork
 *them.
 *
 * Init gets the socket of the first copy at its start. The process at the other end is about to join the sandbox or has
 * joined it; requests may be sent before it listens. It becomes the process of the first request, and the connection
 * ends. For another process init connects to the bell, a socket of the warden in the network namespace of the sandbox;
 * the warden then has a seed made, which finds the request on that connection, and forks until it ends by itself.
 *
 * A copy is no more trusted than any other process in the sandbox. When it ends, or does not answer in time, runtimes
 * are started by exec. Requests and answers are one packet each, in the same order:
 *
 *	request		u32 id, uid, gid, number of groups, groups, flags; with 4 fds that become 0, 1, 2 and 3
 *	answer		u32 id, i32 pid or -errno; that process is a child of init */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct loop;
struct seed;
struct timer;
struct watch;

/* Time for an answer, after which the seed is abandoned. A cold start takes a second or two. */
#define SEED_ANSWER_MS 5000
#define SEED_BECOME 1          /* flag of a request: the copy itself becomes the process */
#define SEED_BELL "atoll-seed" /* abstract */

struct seed_ops {
	/* The answer to that request; pid: -errno if it failed. */
	void (*on_forked)(void *user, struct seed *s, uint32_t id, pid_t pid);
	/* It has ended or was abandoned: outstanding requests are lost. */
	void (*on_end)(void *user, struct seed *s);
};

struct seed {
	int fd;    /* -1: no seed, or no longer */
	bool once; /* it takes one request, and becomes that process */
	bool late; /* it ended because it did not answer in time */
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
void seed_open(struct seed *s, struct loop *loop, int fd, bool once, const struct seed_ops *ops, void *user);
void seed_close(struct seed *s); /* the seed then exits; calls on_end() */
/* Asks for a seed, of a struct seed that has none. Requests may follow at once. -errno: there will be none. */
int seed_ring(struct seed *s, struct loop *loop, const struct seed_ops *ops, void *user);

/* on_forked() gets the answer, unless on_end() comes before. -ENOTCONN: there is no seed, or it takes no more. */
int seed_ask(struct seed *s, const struct seed_request *rq, uint32_t *ret_id);
