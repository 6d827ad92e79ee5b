/* SPDX-License-Identifier: Apache-2.0 */
/* ipc/agent: the messages to and from atoll-agent.
 *
 * Two SOCK_SEQPACKET socketpairs, one struct per packet, in the byte order of the machine. On the one from the warden
 * comes AG_FRONT and nothing else; the only thing that atoll-agent says on it is AG_LOST. On the one that it carries,
 * the front and atoll-agent talk to each other, with equal rights: FA_CONN brings one end of a stream socket on which
 * the receiver is the HTTP server. So neither of them has to be able to make a connection to anywhere, and what
 * atoll-agent may do is what a client with the same key may do. FA_EVENT is only for the front. */
#pragma once

#include <stdint.h>

#define AG_VERSION 1
#define FA_VERSION 1
#define FA_EVENT_MAX (16 * 1024) /* bytes of one event */

enum ag_type {
	AG_FRONT = 1, /* with one fd: the socket to the front, in place of any earlier one */
	/* to the warden: that socket has ended. The front may be gone; if it is not, both get another one */
	AG_LOST,
};

enum fa_type {
	FA_CONN = 1, /* with one fd: speak HTTP/1.1 on it, as the server */
	FA_EVENT,    /* followed by a JSON object: something for the audit log */
};

struct ag_msg {
	uint16_t version;
	uint16_t type;
	uint32_t seq; /* only counted */
};

struct fa_head {
	uint16_t version;
	uint16_t type;
	uint32_t n; /* bytes behind it */
};
