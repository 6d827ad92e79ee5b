/* SPDX-License-Identifier: Apache-2.0 */
/* oci/jail: the power that each process of atoll-pull is left with. Each call is the last thing before strangers'
 * bytes. */
#pragma once

#include <sys/types.h>

#include "base/err.h"

/* Network and reading of world-readable files (certificates, resolv.conf); never a write, never another program. */
int jail_fetcher(uid_t uid, struct err *e);

/* No network, and no files but what is already open; with dir_fd (else -1) also those of that directory, which becomes
 * "/": all of them, as whoever made a layout may have kept it from others. */
int jail_reader(uid_t uid, int dir_fd, struct err *e);

/* In a new user namespace, with root_fd a mount of the image's directory: that becomes "/", and making, removing,
 * owning files in it is all that is left. */
int jail_applier(int root_fd, struct err *e);

/* read(), write() and memory. */
int jail_expander(struct err *e);

/* What the keeper needs to tidy up a tree that has owners of all kinds and to end its own processes, and nothing
 * else. */
int jail_keeper(struct err *e);
