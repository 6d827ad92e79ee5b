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

struct init;
struct timer;
struct watch;

/* Time for an answer, after which the seed is abandoned. A cold start takes a second or two. */
#define SEED_ANSWER_MS 5000

struct seed {
	int fd; /* -1: no seed, or no longer */
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

void seed_open(struct init *in, int fd); /* -1: no seed */
void seed_close(struct init *in);        /* the seed then exits; outstanding requests are lost */

/* The answer is passed to kernel_seeded(). If the seed ends or is abandoned before, kernels_unseeded() is called.
 * -ENOTCONN: there is no seed. */
int seed_ask(struct init *in, const struct seed_request *rq, uint32_t *ret_id);
