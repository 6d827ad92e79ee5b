/* SPDX-License-Identifier: Apache-2.0 */
/* front/proxy/debug: the ports of E2B_DEBUG.
 *
 * A client in that mode makes no sandbox: it talks to port 49983 and 49999 of localhost and expects envd and the code
 * interpreter there. Behind both is one sandbox that nobody asked for: made when the first request comes, kept alive
 * for as long as the server runs, replaced when it has ended. It has no tokens, so only programs of this machine may
 * come. */
#pragma once

#include <stdint.h>

struct debug;
struct front;

/* Serves a listening socket as that port of the sandbox; owns fd, also on failure. */
int debug_listen(struct front *f, uint16_t port, int fd);

#define DEBUG_ID "debug_sandbox_id" /* what clients call it */

/* NULL is fine in all of them. */
const char *debug_id(struct debug *d); /* its real id; NULL: there is none now */
void debug_tick(struct debug *d);      /* once a second */
void debug_stop_accepting(struct debug *d);
void debug_free(struct debug *d);
