/* SPDX-License-Identifier: Apache-2.0 */
/* ipc/agent: the messages to and from atoll-agent.
 *
 * There are two SOCK_SEQPACKET socketpairs, with one struct per packet, in host byte order. On the one to the
 * warden, atoll-agent receives only AG_FRONT and sends only AG_LOST. AG_FRONT carries the other one, which
 * connects the front and atoll-agent as equals: FA_CONN carries one end of a stream socket on which the receiver
 * is the HTTP server. So neither process needs to be able to open connections, and atoll-agent may do no more
 * than a client with the same key. FA_EVENT is sent to the front only. */
#pragma once

#include <stdint.h>

#define AG_VERSION 1
#define FA_VERSION 1
#define FA_EVENT_MAX (16 * 1024) /* bytes of one event */

enum ag_type {
	AG_FRONT = 1, /* with one fd: the socket to the front, replaces any earlier one */
	/* to the warden: that socket was closed. If the front still runs, both get a new one */
	AG_LOST,
};

enum fa_type {
	FA_CONN = 1, /* with one fd: speak HTTP/1.1 on it, as the server */
	FA_EVENT,    /* followed by a JSON object: something for the audit log */
};

struct ag_msg {
	uint16_t version;
	uint16_t type;
	uint32_t seq; /* a running number */
};

struct fa_head {
	uint16_t version;
	uint16_t type;
	uint32_t n; /* bytes that follow */
};
