/* SPDX-License-Identifier: Apache-2.0 */
/* records: what a warden must know to find its sandboxes again after it was killed.
 *
 * One file per sandbox in RUN/sandboxes, named by its id, replaced by rename. It exists before the builder
 * is started (STARTING: whatever is found of it has to go) and says LIVE before the front is told. */
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

/* The bytes of a file, and back. decode: -EBADMSG for anything that no version could have made of a sound record,
 * -EPROTO for what a later one has made and this one cannot use; its policy is the caller's to free. */
size_t record_encode(const struct record *r, char out[RECORD_FILE_MAX]);
int record_decode(const void *p, size_t n, struct record *ret);

int record_write(int dirfd, const struct record *r, struct err *e);
void record_remove(int dirfd, const char *id);

/* All sound records; what is not sound is logged and removed. -EPROTO: there is one of a later version. The caller
 * frees *ret and the policies in it. */
int records_load(int dirfd, struct record **ret, size_t *ret_n, struct err *e);
