/* SPDX-License-Identifier: Apache-2.0 */
/* engines: the isolation engines that a sandbox can have, and their names. The numbers are in records and in the
 * database: never renumber. */
#pragma once

#include <stdint.h>

enum engine_kind {
	ENGINE_NAMESPACES, /* namespaces of the host's kernel */
	ENGINE_GVISOR,     /* a kernel of its own, in user space */
	ENGINE_KINDS,      /* not a value: their number */
};

/* What programs inside want of a kernel of their own, as bits; only an engine that has one can give it. */
#define ENGINE_NEEDS_DOCKER 1u /* mounts, networks and cgroups inside: dockerd */
#define ENGINE_NEEDS_FUSE 2u   /* mounts of FUSE file systems */
#define ENGINE_NEEDS_ALL 3u

#define ENGINES_TEXT "'namespaces' or 'gvisor'"

const char *engine_kind_name(uint32_t kind);         /* "?": no such engine */
int engine_kind_of(const char *name, uint32_t *ret); /* -EINVAL */
