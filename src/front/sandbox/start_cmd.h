/* SPDX-License-Identifier: Apache-2.0 */
/* front/sandbox/start_cmd: has the start command of a template run in a new sandbox, where its memory could not be
 * kept. */
#pragma once

#include "front/link/init_build.h"

struct front;

struct init_build *start_cmd_run(struct front *f, const char *id, init_build_fn *fn, void *user);
