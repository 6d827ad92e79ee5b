/* SPDX-License-Identifier: Apache-2.0 */
/* limit: the limits of a sandbox. */
#pragma once

#include <stdint.h>

#include "engine/engine.h"
#include "ipc/msg.h"

struct unit;

/* Changes all limits except open_files. The front is answered when they are in force; if this call fails, the
 * caller answers. */
int unit_limit(struct unit *sb, uint32_t seq, const struct msg_limits *to, struct err *e);
struct engine_limits limits_from_msg(const struct msg_limits *m);
struct msg_limits limits_to_msg(const struct engine_limits *l);
