/* SPDX-License-Identifier: Apache-2.0 */
/* join: connections into a sandbox that are not usable at once, because its kernel is not the host's: the warden waits
 * for them without blocking, and passes them to the front when the engine says so (greet() in engine/engine.h). */
#pragma once

#include <stdint.h>

#include "base/err.h"

struct unit;

/* Owns fd, also if it fails. The request is answered later. port 0: a stream to init. -EAGAIN: too many are being
 * made. */
int unit_join(struct unit *sb, uint32_t seq, int fd, uint16_t port, struct err *e);
void unit_join_end(struct unit *sb); /* fails all of them */
