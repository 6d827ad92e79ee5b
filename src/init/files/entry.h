/* SPDX-License-Identifier: Apache-2.0 */
/* entry: the API's description of one file: EntryInfo of the filesystem service. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

struct userdb;

/* Describes path. A link is described itself, but with the type and mode of its target. shown: the path to report.
 * legacy: only name, type and path. 0 with a new object, or -errno of lstat(). */
int entry_read(const char *path, const char *shown, const struct userdb *db, bool legacy, json_t **ret);
