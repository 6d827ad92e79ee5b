/* SPDX-License-Identifier: Apache-2.0 */
/* front/proxy/debug: the ports for E2B_DEBUG.
 *
 * A client in that mode creates no sandbox: it connects to ports 49983 and 49999 of localhost and expects envd and
 * the code interpreter there. Behind both is one sandbox that the front creates for the first request, keeps alive
 * as long as the server runs, and replaces when it has ended. It has no tokens, so only programs of this machine
 * may connect. */
#pragma once

#include <stdint.h>

struct debug;
struct proxies;

/* Serves a listening socket as that port of the sandbox. Takes ownership of fd, also on failure. */
int debug_listen(struct proxies *p, uint16_t port, int fd);

#define DEBUG_ID "debug_sandbox_id" /* the id that clients use */

/* d may be NULL. */
const char *debug_id(struct debug *d); /* its real id; NULL: there is no debug sandbox now */
void debug_tick(struct debug *d);      /* once a second */
void debug_stop_accepting(struct debug *d);
void debug_free(struct debug *d);
