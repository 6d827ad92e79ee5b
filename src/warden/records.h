/* SPDX-License-Identifier: Apache-2.0 */
/* records: what a warden must know to find its sandboxes again after it was killed.
 *
 * There is one file per sandbox in RUN/sandboxes, named by its id and replaced by rename. It exists before the
 * builder is started (STARTING: what is left of the sandbox must be removed) and says LIVE before the front is
 * notified. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "engine/engine.h"
#include "ipc/policy.h"

struct held_policy;

enum record_stage { RECORD_STARTING = 1, RECORD_LIVE };

struct record {
	enum record_stage stage;
	bool frozen;
	struct engine_record er;
	struct held_policy *policy; /* NULL: none */
};

#define RECORD_FILE_MAX (4096 + POLICY_MAX)

/* Converts a record to the bytes of a file and back. record_decode() returns -EBADMSG for bytes that no version
 * could have written for a valid record, and -EPROTO for a record of a later version that this one cannot use.
 * The caller frees the policy. */
size_t record_encode(const struct record *r, char out[RECORD_FILE_MAX]);
int record_decode(const void *p, size_t n, struct record *ret);

int record_write(int dirfd, const struct record *r, struct err *e);
void record_remove(int dirfd, const char *id);

/* Loads all valid records; invalid ones are logged and removed. -EPROTO: there is a record of a later version.
 * The caller frees *ret and the policies in it. */
void records_free(struct record *list, size_t n);
int records_load(int dirfd, struct record **ret, size_t *ret_n, struct err *e);
