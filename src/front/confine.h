/* SPDX-License-Identifier: Apache-2.0 */
/* front/confine: what the front gives up before it reads the first byte from outside. */
#pragma once

#include <stdint.h>

#include "base/err.h"

/* First thing: no new privileges, no dumps, as many fds as allowed. */
int confine_early(uint32_t *ret_fds, struct err *e);
/* when all files are open: the system call filter, and no file system any more */
int confine_late(struct err *e);
