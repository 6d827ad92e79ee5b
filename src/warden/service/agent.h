/* SPDX-License-Identifier: Apache-2.0 */
/* agent: keeps atoll-agent running, which serves /mcp and /agent for the front, and gives the two a socket to each
 * other. Without it all else works: the front answers 503 for those paths until the next life has begun. */
#pragma once

#include "base/err.h"

struct warden;

int agent_open(struct warden *w, int exe_fd, const char *exe, struct err *e);
void agent_close(struct warden *w);

void agent_introduce(struct warden *w); /* front and atoll-agent, if both are there */
