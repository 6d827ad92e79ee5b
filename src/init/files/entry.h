/* SPDX-License-Identifier: Apache-2.0 */
/* entry: what the API tells about one file: EntryInfo of the filesystem service. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

struct userdb;

/* Looks at path (a link is described itself, with type and mode of what it leads to). shown: the path to report.
 * legacy: only name, type and path. 0 with a new object, or -errno of lstat(). */
int entry_read(const char *path, const char *shown, const struct userdb *db, bool legacy, json_t **ret);
