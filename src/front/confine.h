/* SPDX-License-Identifier: Apache-2.0 */
/* front/confine: the privileges that the front drops before it reads any input from the network. */
#pragma once

#include <stdint.h>

#include "base/err.h"

/* At the start: no new privileges, no core dumps, as many fds as allowed. */
int confine_early(uint32_t *ret_fds, struct err *e);
/* When all files are open: the system call filter, and no access to the file system. */
int confine_late(struct err *e);
