/* SPDX-License-Identifier: Apache-2.0 */
/* cli/host/listen: parses "ADDRESS:PORT" with a numeric address, IPv6 in brackets. No I/O. */
#pragma once

#include <sys/socket.h>

#include "base/err.h"

#define LISTEN_DEFAULT "127.0.0.1:8080"

struct listen_addr {
	struct sockaddr_storage sa;
	socklen_t len;
};

int listen_parse(const char *text, struct listen_addr *ret, struct err *e); /* -EINVAL */
