/* SPDX-License-Identifier: Apache-2.0 */
/* sweeper: a helper process for slow work on the storage. */
#include "engine/disk/sweeper.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/statvfs.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/str.h"
#include "engine/disk/btrfs.h"
#include "engine/disk/loopdev.h"
#include "engine/disk/room.h"
#include "engine/disk/tree.h"
#include "engine/helper.h"

#define GROW_STEP_MIN (1ull << 30)
#define GROW_BELOW 4  /* grow when less than 1/4 is free */
#define HOST_KEEP 20  /* never take the last 1/20 of the host's disk */
#define PER_TICK 1000 /* while most is free, a look at all is worth a tick for so many subvolumes */
#define COUNTERS_TICKS 5
#define COUNTERS_IDLE_TICKS 60

struct request {
	char name[32]; /* "": a tick */
	uint64_t room; /* bytes that should be free afterwards */
};

int sweeper_remove_now(int fs_fd, const char *name)
{
	int r = btrfs_subvol_delete(fs_fd, name);

	if (r == -ENOTTY || r == -EINVAL) /* not a subvolume, or not btrfs */
		r = tree_remove(fs_fd, name);
	return r == -ENOENT ? 0 : r;
}

/* How much the storage may still grow: what the operator allows and the host's disk has. */
static uint64_t can_grow(const struct sweeper_job *j)
{
	struct statvfs host;

	if (j->file_fd < 0 || j->bytes >= j->max_bytes || fstatvfs(j->file_fd, &host) < 0)
		return 0;
	uint64_t free_bytes = (uint64_t)host.f_bavail * host.f_frsize;
	uint64_t keep = (uint64_t)host.f_blocks * host.f_frsize / HOST_KEEP;
	uint64_t most = free_bytes > keep ? free_bytes - keep : 0;

	return j->max_bytes - j->bytes < most ? j->max_bytes - j->bytes : most;
}

/* Grows the storage if less than a quarter is free, or less than room bytes, which are about to be needed. */
static void grow(struct sweeper_job *j, uint64_t room)
{
	uint64_t most = can_grow(j);
	struct statvfs fs;

	if (!most || fstatvfs(j->fs_fd, &fs) < 0)
		return;
	uint64_t has = (uint64_t)fs.f_bavail * fs.f_frsize, lacks = room > has ? room - has : 0;

	if (fs.f_bavail >= fs.f_blocks / GROW_BELOW && !lacks)
		return;
	uint64_t step = j->bytes / 4 > GROW_STEP_MIN ? j->bytes / 4 : GROW_STEP_MIN;

	if (step < lacks + lacks / 4) /* metadata takes its part of the new space */
		step = lacks + lacks / 4;
	if (step > most)
		step = most;
	step &= ~(uint64_t)0xfffff;
	if (step == 0)
		return;
	int r = -posix_fallocate(j->file_fd, (off_t)j->bytes, (off_t)step);

	if (r == 0)
		r = loopdev_grown(j->loop_fd);
	if (r == 0)
		r = btrfs_resize_max(j->fs_fd);
	if (r < 0) {
		log_warn("could not grow the storage, retrying", "err=%s", strerror(-r));
		return;
	}
	j->bytes += step;
	log_info("storage grown", "mib=%llu", (unsigned long long)(j->bytes >> 20));
}

/* Grows the storage and adjusts the second limits (room.h). Returns in how many ms to check again; -1: with the
 * next tick. */
static int look(struct sweeper_job *j, uint64_t room)
{
	size_t n;

	grow(j, room);
	if (!room && j->rest > 0 && room_is_ample(j->fs_fd, can_grow(j))) {
		j->rest--;
		return -1;
	}
	int wait_ms = room_look(j->fs_fd, can_grow(j), &n);

	j->rest = (unsigned)(n / PER_TICK);
	return wait_ms;
}

static void serve(void *arg, int sock)
{
	struct sweeper_job *j = arg;
	unsigned counters_in = COUNTERS_TICKS;
	uint64_t below = 0;
	struct request rq;
	int wait_ms = -1;

	for (;;) {
		if (poll(&(struct pollfd) { .fd = sock, .events = POLLIN }, 1, wait_ms) == 0) {
			wait_ms = look(j, 0);
			continue;
		}
		ssize_t n = recv(sock, &rq, sizeof rq, MSG_DONTWAIT);

		if (n < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (n != (ssize_t)sizeof rq)
			return;
		if (rq.name[0]) {
			int r = sweeper_remove_now(j->fs_fd, rq.name);

			if (r < 0)
				log_warn("could not remove a sandbox's directory: the next start of the server retries",
				    "id=%s err=%s", rq.name, strerror(-r));
			counters_in = counters_in < COUNTERS_TICKS ? counters_in : COUNTERS_TICKS;
			continue;
		}
		if (j->file_fd < 0)
			continue;
		wait_ms = look(j, rq.room);
		if (!rq.room && --counters_in == 0)
			counters_in = btrfs_qgroup_sweep(j->fs_fd, &below) > 0 ? COUNTERS_TICKS : COUNTERS_IDLE_TICKS;
	}
}

int sweeper_start(const struct sweeper_job *job, struct helper *ret, struct err *e)
{
	struct sweeper_job own = *job; /* the child updates its own copy */
	const int keep[] = { job->fs_fd, job->file_fd, job->loop_fd };

	return helper_start("atoll-sweeper", keep, ARRAY_LEN(keep), serve, &own, ret, e);
}

int sweeper_remove(struct helper *s, const char *name)
{
	struct request rq = { 0 };

	if (!str_copy(rq.name, sizeof rq.name, str_of(name)))
		return -ENAMETOOLONG;
	return send(s->sock, &rq, sizeof rq, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 ? -errno : 0;
}

void sweeper_tick(struct helper *s)
{
	struct request rq = { 0 };

	(void)send(s->sock, &rq, sizeof rq, MSG_DONTWAIT | MSG_NOSIGNAL); /* if it is busy, there will be another
									   * tick */
}

void sweeper_want_room(struct helper *s, uint64_t bytes)
{
	struct request rq = { .room = bytes };

	(void)send(s->sock, &rq, sizeof rq, MSG_DONTWAIT | MSG_NOSIGNAL); /* it is busy, or has exited */
}
