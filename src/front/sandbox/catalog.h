/* SPDX-License-Identifier: Apache-2.0 */
/* front/sandbox/catalog: the templates that sandboxes can be created from: those of the server and those built by
 * teams. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"
#include "front/sandbox/snapshots.h"
#include "front/sandbox/template.h"
#include "ipc/msg.h"
#include "store/builds.h"

struct sandboxes;
struct limits_range;

struct catalog_entry {
	struct template tpl; /* id and name; the key is the key of the underlying image */
	char saved[ID_SIZE]; /* name of the saved state to start from; "": only the image */
	uint32_t what;       /* SAVED_* */
	struct msg_limits limits;
	bool is_built;           /* built by a team; false: one of the server's own */
	struct template_row row; /* valid if is_built */
};

/* Resolves "[namespace/]name[:tag]" or an id to a template that the team may use: one of its own, one of the
 * server's, or a public one of another team (by id or with its namespace). Returns -ENOENT with a message for the
 * client. */
int catalog_find(const struct sandboxes *all, const char *team, struct str ref, struct catalog_entry *ret,
    struct err *e);

/* Like catalog_find(), for built templates only and without looking up a build. Returns -ENOENT, also if
 * the template belongs to another team and is not public. */
int catalog_row(const struct sandboxes *all, const char *team, struct str ref, struct template_row *ret,
    struct snapshot_ref *ret_ref, struct err *e);

/* Finds the build that the tag of ref selects. The tag is a tag name or the id of a build of that template.
 * Returns -ENOENT with a message for the client. */
int catalog_build(const struct sandboxes *all, const struct template_row *row, const struct snapshot_ref *ref,
    struct build_row *ret, struct err *e);
bool is_build_id(const char *z); /* whether z has the form of a build id, a UUID */

/* Computes the limits of sandboxes started from build b: the build's own values, and the defaults for the rest. */
void catalog_limits(const struct sandboxes *all, const struct template *tpl, const struct build_row *b,
    struct msg_limits *ret);
void catalog_names(const struct sandboxes *all, const struct template_row *r,
    char ret[SNAPSHOT_NAME_SIZE]); /* "namespace/name" */

/* The default and maximum limits of a sandbox of this template. */
void limits_of_template(const struct sandboxes *all, const struct template *tpl, struct limits_range *ret);
