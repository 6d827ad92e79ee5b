/* SPDX-License-Identifier: Apache-2.0 */
/* store/host: the start of the host that what the state file says of running sandboxes is of. */
#pragma once

#include "base/boot_id.h"
#include "base/err.h"

struct store;

int host_boot_id(struct store *s, char ret[BOOT_ID_SIZE], struct err *e); /* "": none was recorded */
int host_set_boot_id(struct store *s, const char *id, struct err *e);
