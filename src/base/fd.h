/* SPDX-License-Identifier: Apache-2.0 */
/* fd: file descriptors with an owner, complete reads and writes, and fds sent over unix sockets. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/types.h>
#include <unistd.h>

#include "base/err.h"

static inline void fd_close(int fd)
{
	if (fd >= 0)
		(void)close(fd); /* never retried: the number may be in use again by then */
}

static inline void fd_cleanup(int *fd)
{
	fd_close(*fd);
}

static inline int take_fd(int *fd)
{
	int v = *fd;

	*fd = -1;
	return v;
}

static inline void free_cleanup(void *pp)
{
	free(*(void **)pp);
}

static inline void *take_ptr_(void **pp)
{
	void *v = *pp;

	*pp = NULL;
	return v;
}

#define autoclose __attribute__((cleanup(fd_cleanup)))
#define autofree __attribute__((cleanup(free_cleanup)))
#define take_ptr(pp) ((__typeof__(*(pp)))take_ptr_((void **)(pp)))
#define container_of(ptr, type, member) ((type *)((char *)(ptr) - offsetof(type, member)))
#define ARRAY_LEN(a) (sizeof(a) / sizeof(*(a)))

int fd_nonblock(int fd, bool on); /* -errno */
int fd_cloexec(int fd, bool on);

/* Closes every fd from 3 on that is not among the n in keep. Sorts keep; -1 is ignored. For a forked helper, in
 * which the parent's locks, listeners and links would otherwise outlive the parent. */
void fd_close_others(int *keep, size_t n);

/* Transfers all n bytes or returns an error; a short read is -EPIPE. */
int fd_read_all(int fd, void *p, size_t n);
int fd_write_all(int fd, const void *p, size_t n);

/* file_read() reads a small file (proc, sysfs, our own) completely into z and adds a NUL. Returns its length, or
 * -EFBIG if it does not fit. file_write() writes a file in a single write(), as proc and sysfs require. dirfd as
 * in openat(). */
ssize_t file_read(int dirfd, const char *path, char *z, size_t size);
int file_write(int dirfd, const char *path, const char *text);

#define FD_PASS_MAX 8

/* One message with fds on a SEQPACKET or STREAM socket. fd_recv() fills up to max_fds (all
 * close-on-exec), closes any beyond that and then fails with -EMSGSIZE; a truncated message is
 * -EMSGSIZE too. Both return the number of bytes, 0 at the end, or -errno (-EAGAIN if it would block). */
ssize_t fd_send(int sock, const void *p, size_t n, const int *fds, size_t n_fds);
ssize_t fd_recv(int sock, void *p, size_t n, int *fds, size_t max_fds, size_t *ret_n_fds);
