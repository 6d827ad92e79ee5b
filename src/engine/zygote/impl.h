/* SPDX-License-Identifier: Apache-2.0 */
/* zygote_impl: what zygote.c and make.c share: the names of the zygote's socket, and a receive that returns the
 * sender's pid. */
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
#define ZYGOTE_CGROUP "_zygote-" /* followed by the first digits of the key */

/* Below RUN/zygotes, KEY is the record of the zygote's process and KEY-VERSION its socket, so that a daemon of
 * another version does not find it. */
void zygote_name(const struct zygote_config *cfg, const char *key, const char *suffix, char ret[ZYGOTE_NAME_SIZE]);

/* The address goes through the directory's fd, because the directory's own path may exceed sun_path. */
socklen_t zygote_address(int dir_fd, const char *name, struct sockaddr_un *ret);

/* Receives a message and returns the sender's pid in our own pid namespace, as the kernel reports it. -1: no
 * sender. */
pid_t zygote_sender(int conn, char *ret, size_t size, ssize_t *ret_n);

void zygote_cgroup(const char *key, char ret[ZYGOTE_NAME_SIZE]);

int zygote_make(const struct zygote_config *cfg, const char *key, struct err *e);
