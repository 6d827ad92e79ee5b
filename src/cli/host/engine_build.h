/* SPDX-License-Identifier: Apache-2.0 */
/* cli/host/engine_build: builds the program of an engine from its sources, as a user id that nothing else has. */
#pragma once

#include "base/err.h"

struct engine_pin;

struct engine_build {
	char dir[64]; /* everything that the build writes */
	unsigned uid; /* who builds */
};

/* Builds, with progress on stderr. engines: the directory with the recipes. *ret_fd: the program, which the user id of
 * the build owns. engine_build_done() in any case. */
int engine_build(const char *engines, const struct engine_pin *p, struct engine_build *b, int *ret_fd, struct err *e);

void engine_build_done(struct engine_build *b); /* ends what the build has left, and removes its files */
