/* SPDX-License-Identifier: Apache-2.0 */
/* agent: keeps atoll-agent running, which serves /mcp and /agent for the front, and gives the two a socket to
 * each other. The server works without it: the front answers 503 for those paths until atoll-agent has been
 * restarted. */
#pragma once

#include "base/err.h"

struct warden;

int agent_open(struct warden *w, int exe_fd, const char *exe, struct err *e);
void agent_close(struct warden *w);

void agent_introduce(struct warden *w); /* connects the front and atoll-agent, if both run */
