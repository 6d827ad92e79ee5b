/* SPDX-License-Identifier: Apache-2.0 */
/* dev: the sandbox's /dev, made outside because nobody inside may make a device node. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"

#define DEV_INIT ".atoll/init" /* within /dev: place of the program that is pid 1 */
#define DEV_BOOT_ID ".atoll/boot_id"
#define DEV_VIEW ".atoll/view"       /* place of the files of its view */
#define DEV_NOTHING ".atoll/nothing" /* an empty directory, to hide others with */

/* A small tmpfs with the usual nodes and links and empty places for pts, shm, mqueue and .atoll/init; its files belong
 * to that host uid, the sandbox's root. */
int dev_make(uid_t root, int *ret_mount_fd, struct err *e);

/* Closes .atoll to everybody inside, once pid 1 runs. Its program is one file for all sandboxes: whoever could open it
 * could lock it for the others, and be told by a watch when they start. (It cannot be unreadable: pid 1 would belong to
 * the host's user namespace then, and no warm interpreter could join it.) */
int dev_shut(int mount_fd, struct err *e);

bool dev_has(const char *name); /* is that one of the nodes, links and directories which it puts there? */
