/* SPDX-License-Identifier: Apache-2.0 */
/* loopdev: the loop device behind the storage file. */
#pragma once

#include "base/err.h"

/* Returns the loop device that already backs file_fd, or a new one with direct I/O that is detached with its last
 * user. Two devices on one file would mount it twice and destroy it. Device nodes are made in dir_fd, so nothing
 * waits for udev. *ret_fd is an open fd of the block device. */
int loopdev_attach(int file_fd, int dir_fd, int *ret_number, int *ret_fd, struct err *e);

int loopdev_grown(int loop_fd); /* call after the file has grown; -errno */
