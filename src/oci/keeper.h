/* SPDX-License-Identifier: Apache-2.0 */
/* oci/keeper: runs a pull from start to end, see oci/pull.h. */
#pragma once

#include "base/err.h"
#include "oci/place.h"
#include "oci/pull.h"

struct keeper_spec {
	struct pull_spec *pull;
	const char *cache;
	const char *state;    /* state directory of the server that pulls; NULL: none */
	const char *name;     /* name of the image, stored beside it */
	uint64_t cache_bytes; /* quota of the blobs */
	int talk;             /* fd for lines of JSON */
	bool watch_talk;      /* cancel the pull when talk is closed */
};

int keeper_run(const struct keeper_spec *sp, struct err *e);
