/* SPDX-License-Identifier: Apache-2.0 */
/* audit/key: the file with the key for the MACs of records. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "audit/chain.h"
#include "base/err.h"

#define AUDIT_KEY_FILE "audit.key"

/* Reads AUDIT_KEY_FILE in dir, which only its owner can access. If it does not exist, creates it if `make` is
 * set, else returns -ENOENT. */
int audit_key_read(const char *dir, bool make, uint8_t ret[AUDIT_KEY_SIZE], struct err *e);
int audit_key_read_file(const char *path, uint8_t ret[AUDIT_KEY_SIZE], struct err *e);
