/* SPDX-License-Identifier: Apache-2.0 */
/* store/snapshots: snapshots of sandboxes that others can be started from. */
#pragma once

#include <stdint.h>

#include "base/err.h"

struct store;

struct snapshot_row {                  /* strings are borrowed; alias may be NULL */
	const char *template_id, *tag; /* together the name for clients */
	const char *team, *alias, *source;
	const char *volumes;   /* mounted in its source: JSON, or NULL */
	const char *kept_name; /* the warden's name for it */
	uint32_t kept;
	const char *base_id, *base_name, *base_key; /* the template of its source */
	uint64_t mem_bytes, disk_bytes, created_ms;
	uint32_t cpu_permille, pids;
};

/* Changes are on disk when they return. */
/* replaces one with the same name */
int snapshots_put(struct store *s, const struct snapshot_row *r, struct err *e);
int snapshots_drop(struct store *s, const char *template_id, const char *tag, struct err *e);

int snapshots_each(struct store *s, int (*fn)(void *user, const struct snapshot_row *r), void *user, struct err *e);
