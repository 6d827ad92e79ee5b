/* SPDX-License-Identifier: Apache-2.0 */
/* fd: complete reads and writes, small files, fds sent over unix sockets. */
#include "base/fd.h"

#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>

int fd_nonblock(int fd, bool on)
{
	int fl = fcntl(fd, F_GETFL);

	if (fl < 0 || fcntl(fd, F_SETFL, on ? fl | O_NONBLOCK : fl & ~O_NONBLOCK) < 0)
		return -errno;
	return 0;
}

int fd_cloexec(int fd, bool on)
{
	return fcntl(fd, F_SETFD, on ? FD_CLOEXEC : 0) < 0 ? -errno : 0;
}

static int by_number(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

void fd_close_others(int *keep, size_t n)
{
	unsigned from = 3;

	qsort(keep, n, sizeof *keep, by_number);
	for (size_t i = 0; i < n; i++) {
		if (keep[i] < (int)from) /* -1, or a duplicate */
			continue;
		if (keep[i] > (int)from)
			(void)syscall(SYS_close_range, from, (unsigned)keep[i] - 1, 0);
		from = (unsigned)keep[i] + 1;
	}
	(void)syscall(SYS_close_range, from, ~0u, 0);
}

int fd_read_all(int fd, void *p, size_t n)
{
	char *at = p;

	while (n > 0) {
		ssize_t r = read(fd, at, n);

		if (r < 0 && errno == EINTR)
			continue;
		if (r <= 0)
			return r < 0 ? -errno : -EPIPE;
		at += r;
		n -= (size_t)r;
	}
	return 0;
}

int fd_write_all(int fd, const void *p, size_t n)
{
	const char *at = p;

	while (n > 0) {
		ssize_t r = write(fd, at, n);

		if (r < 0 && errno == EINTR)
			continue;
		if (r < 0)
			return -errno;
		at += r;
		n -= (size_t)r;
	}
	return 0;
}

ssize_t file_read(int dirfd, const char *path, char *z, size_t size)
{
	autoclose int fd = openat(dirfd, path, O_RDONLY | O_CLOEXEC);
	size_t n = 0;

	if (fd < 0)
		return -errno;
	while (n < size) {
		ssize_t r = read(fd, z + n, size - n);

		if (r < 0 && errno == EINTR)
			continue;
		if (r < 0)
			return -errno;
		if (r == 0) {
			z[n] = '\0';
			return (ssize_t)n;
		}
		n += (size_t)r;
	}
	return -EFBIG;
}

int file_write(int dirfd, const char *path, const char *text)
{
	autoclose int fd = openat(dirfd, path, O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	size_t n = strlen(text);
	ssize_t r = write(fd, text, n);

	if (r < 0)
		return -errno;
	return (size_t)r == n ? 0 : -EIO;
}

ssize_t fd_send(int sock, const void *p, size_t n, const int *fds, size_t n_fds)
{
	union {
		struct cmsghdr align;
		char space[CMSG_SPACE(sizeof(int) * FD_PASS_MAX)];
	} ctl;
	struct iovec iov = { (void *)p, n };
	struct msghdr mh = { .msg_iov = &iov, .msg_iovlen = 1 };

	if (n_fds > FD_PASS_MAX)
		return -EINVAL;
	if (n_fds > 0) {
		memset(&ctl, 0, sizeof ctl);
		mh.msg_control = ctl.space;
		mh.msg_controllen = CMSG_SPACE(sizeof(int) * n_fds);
		struct cmsghdr *c = CMSG_FIRSTHDR(&mh);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(int) * n_fds);
		memcpy(CMSG_DATA(c), fds, sizeof(int) * n_fds);
	}
	for (;;) {
		ssize_t r = sendmsg(sock, &mh, MSG_NOSIGNAL);

		if (r >= 0 || errno != EINTR)
			return r < 0 ? -errno : r;
	}
}

/* Takes the fds out of a received message: stores up to max_fds of them, closes the rest. */
static size_t take_rights(struct msghdr *mh, int *fds, size_t max_fds)
{
	size_t seen = 0;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(mh); c; c = CMSG_NXTHDR(mh, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		size_t k = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);

		for (size_t i = 0; i < k; i++) {
			int fd;

			memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof fd);
			if (seen < max_fds)
				fds[seen] = fd;
			else
				fd_close(fd);
			seen++;
		}
	}
	return seen;
}

ssize_t fd_recv(int sock, void *p, size_t n, int *fds, size_t max_fds, size_t *ret_n_fds)
{
	union {
		struct cmsghdr align;
		char space[CMSG_SPACE(sizeof(int) * FD_PASS_MAX)];
	} ctl;
	struct iovec iov = { p, n };
	struct msghdr mh = { .msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = ctl.space,
		.msg_controllen = sizeof ctl.space };
	ssize_t r;

	*ret_n_fds = 0;
	do {
		r = recvmsg(sock, &mh, MSG_CMSG_CLOEXEC);
	} while (r < 0 && errno == EINTR);
	if (r < 0)
		return -errno;
	size_t seen = take_rights(&mh, fds, max_fds);
	if (seen > max_fds || (mh.msg_flags & (MSG_TRUNC | MSG_CTRUNC))) {
		for (size_t i = 0; i < seen && i < max_fds; i++)
			fd_close(fds[i]);
		return -EMSGSIZE;
	}
	*ret_n_fds = seen;
	return r;
}
