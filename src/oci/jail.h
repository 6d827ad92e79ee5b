/* SPDX-License-Identifier: Apache-2.0 */
/* oci/jail: the privileges that each process of atoll-pull keeps. Each function is called right before the process
 * reads untrusted bytes. */
#pragma once

#include <sys/types.h>

#include "base/err.h"

/* Network access, and reading of world-readable files (certificates, resolv.conf); no writing, no exec. */
int jail_fetcher(uid_t uid, struct err *e);

/* No network, and no files except those already open. With dir_fd (else -1) also all files of that directory,
 * which becomes "/", whatever their owner and mode: the author of a layout may have restricted them. */
int jail_reader(uid_t uid, int dir_fd, struct err *e);

/* In a new user namespace. root_fd is a mount of the image's directory: it becomes "/". The process may only
 * create, remove and chown files in it. */
int jail_applier(int root_fd, struct err *e);

/* Only read(), write() and memory management. */
int jail_expander(struct err *e);

/* What the keeper needs to remove a tree with arbitrary owners and to kill its own processes, and nothing else. */
int jail_keeper(struct err *e);
