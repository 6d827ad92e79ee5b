/* SPDX-License-Identifier: Apache-2.0 */
/* store/host: the boot of the host that the states of running sandboxes in the state file refer to. */
#pragma once

#include "base/boot_id.h"
#include "base/err.h"

struct store;

int host_boot_id(struct store *s, char ret[BOOT_ID_SIZE], struct err *e); /* "": none was recorded */
int host_set_boot_id(struct store *s, const char *id, struct err *e);
