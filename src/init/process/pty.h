/* SPDX-License-Identifier: Apache-2.0 */
/* pty: a pseudo-terminal of the sandbox's own devpts. */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

/* Both ends are close-on-exec and the master is non-blocking. The slave is owned by uid. */
int pty_open(uid_t uid, uint16_t cols, uint16_t rows, int *ret_master, int *ret_slave, struct err *e);
int pty_resize(int master, uint16_t cols, uint16_t rows); /* -errno */
