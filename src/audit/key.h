/* SPDX-License-Identifier: Apache-2.0 */
/* trail/key: the file with the key that records are sealed with. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "audit/chain.h"
#include "base/err.h"

#define AUDIT_KEY_FILE "audit.key"

/* TRAIL_KEY_FILE in dir, for its owner alone; made if there is none and `make` is set, else -ENOENT. */
int audit_key_read(const char *dir, bool make, uint8_t ret[AUDIT_KEY_SIZE], struct err *e);
int audit_key_read_file(const char *path, uint8_t ret[AUDIT_KEY_SIZE], struct err *e);
