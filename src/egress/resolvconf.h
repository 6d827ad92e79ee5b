/* SPDX-License-Identifier: Apache-2.0 */
/* resolvconf: the name servers of the host. */
#pragma once

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

#include "base/str.h"
#include "ipc/settings.h"

#define UPSTREAMS_MAX NAME_SERVERS_MAX

union upstream {
	struct sockaddr sa;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

/* Parses `nameserver` lines; other or malformed lines are skipped, as resolvers do. Returns how many were found. */
size_t resolvconf_parse(struct str text, union upstream ret[UPSTREAMS_MAX]);

/* The host's file, read again when it has changed. */
struct resolvconf {
	int dirfd; /* of /etc: the file is replaced, not rewritten */
	struct stat last;
	union upstream up[UPSTREAMS_MAX];
	size_t n;
	bool fixed; /* configured by the operator: the host's file is ignored */
};

/* Sets a comma-separated list of addresses instead of the host's file. */
bool resolvconf_fix(struct resolvconf *rc, struct str list);
void resolvconf_open(struct resolvconf *rc);
void resolvconf_refresh(struct resolvconf *rc);
socklen_t upstream_len(const union upstream *u);
