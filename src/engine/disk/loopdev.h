/* SPDX-License-Identifier: Apache-2.0 */
/* loopdev: the loop device behind the pool file. */
#pragma once

#include "base/err.h"

/* The device that already backs file_fd, or else a new one with direct I/O that goes away with its last user. Two
 * devices on one file would mount it twice and ruin it. Device nodes are made in dir_fd, so no udev is waited for;
 * ret_path_fd is an open fd of the block device. */
int loopdev_attach(int file_fd, int dir_fd, int *ret_number, int *ret_fd, struct err *e);

int loopdev_grown(int loop_fd); /* the file has become longer; -errno */
