/* SPDX-License-Identifier: Apache-2.0 */
/* zygote_impl: what zygote.c and make.c share: the names of its socket and its one message with a sender. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/un.h>

#include "base/err.h"

struct zygote_config;

#define ZYGOTE_NAME_SIZE 64
#define ZYGOTE_SCRIPT "/opt/atoll/runtimes/python/zygote.py"
#define ZYGOTE_CGROUP "_zygote-" /* and the first digits of the key */

/* Below RUN/zygotes: KEY is the record of its process, KEY-VERSION its socket, so that a daemon of another version
 * finds none. */
void zygote_name(const struct zygote_config *cfg, const char *key, const char *suffix, char ret[ZYGOTE_NAME_SIZE]);

/* By way of the directory's fd: its own path may be longer than such an address. */
socklen_t zygote_address(int dir_fd, const char *name, struct sockaddr_un *ret);

/* What is there to read, and from whom: the kernel says so, in terms of our own pid namespace. -1: from nobody. */
pid_t zygote_sender(int conn, char *ret, size_t size, ssize_t *ret_n);

void zygote_cgroup(const char *key, char ret[ZYGOTE_NAME_SIZE]);

int zygote_make(const struct zygote_config *cfg, const char *key, struct err *e);
