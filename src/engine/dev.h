/* SPDX-License-Identifier: Apache-2.0 */
/* dev: the sandbox's /dev, made outside because no process inside may create a device node. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

#define DEV_INIT ".atoll/init" /* within /dev: mount point of the program that is pid 1 */
#define DEV_BOOT_ID ".atoll/boot_id"
#define DEV_VIEW ".atoll/view"       /* mount point of the files of its view */
#define DEV_NOTHING ".atoll/nothing" /* an empty directory, mounted over others to hide them */

/* Creates a small tmpfs with the usual nodes and links and with empty mount points for pts, shm, mqueue and
 * .atoll/init. Its files belong to the host uid root, which is the sandbox's root. */
int dev_make(uid_t root, int *ret_mount_fd, struct err *e);

/* Creates an empty tmpfs for /dev/shm. root: the sandbox's root, as the caller sees it. */
int dev_make_shm(uint64_t mem_bytes, uid_t root, int *ret_mount_fd, struct err *e);

/* Closes .atoll to every process inside, once pid 1 runs. All sandboxes share one file for that program: a process
 * that could open it could lock it for the other sandboxes, and learn from a watch when they start. (The file
 * itself must stay readable: otherwise pid 1 would belong to the host's user namespace, and no zygote could join
 * it.) */
int dev_shut(int mount_fd, struct err *e);

bool dev_has(const char *name); /* whether dev_make() creates a node, link or directory of that name */
