/* SPDX-License-Identifier: Apache-2.0 */
/* oci/keeper: runs a pull from beginning to end, see oci/pull.h. */
#pragma once

#include "base/err.h"
#include "oci/place.h"
#include "oci/pull.h"

struct keeper_spec {
	struct pull_spec *pull;
	const char *cache;
	const char *state;    /* of the server that it is for; NULL: none */
	const char *name;     /* of the image, for the note beside it */
	uint64_t cache_bytes; /* quota of the blobs */
	int talk;             /* where lines of JSON go */
	bool watch_talk;      /* its end is ours */
};

int keeper_run(const struct keeper_spec *sp, struct err *e);
