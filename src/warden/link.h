/* SPDX-License-Identifier: Apache-2.0 */
/* link: the warden's end of the socket to its front: packets in, a bounded queue of packets out.
 *
 * No requests are read from a front that does not read its answers (LINK_HIGH). If LINK_MAX of them pile up, the
 * link is given up through on_gone. No callback is called after link_free(), which may be called inside a
 * callback. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct link;
struct loop;

#define LINK_HIGH 512
#define LINK_MAX 8192

struct link_ops {
	/* One packet. The fds (close-on-exec) belong to the link, which closes them afterwards. */
	void (*on_packet)(void *user, const void *p, size_t n, const int *fds, size_t n_fds);
	void (*on_gone)(void *user, const char *why); /* terminal: the owner frees the link */
};

struct link *link_new(struct loop *l, int fd, const struct link_ops *ops, void *user); /* owns fd; NULL: no memory */
void link_send(struct link *lk, const void *p, size_t n, int fd); /* fd is sent and closed; -1: none */
int link_fd(const struct link *lk);
bool link_closed(const struct link *lk); /* for on_gone: the peer has closed its end, or has ended */
void link_free(struct link *lk);         /* NULL is allowed */
