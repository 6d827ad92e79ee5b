/* SPDX-License-Identifier: Apache-2.0 */
/* front/sandbox/catalog: what sandboxes can be made from: the server's templates, and those that teams have built. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"
#include "front/sandbox/snapshots.h"
#include "front/sandbox/template.h"
#include "ipc/msg.h"
#include "store/builds.h"

struct front;
struct limits_range;

struct catalog_entry {
	struct template tpl; /* id and name; the key is that of the image below */
	char saved[ID_SIZE]; /* what it begins with; "": nothing but the image */
	uint32_t what;       /* SAVED_* */
	struct msg_limits limits;
	bool is_built;           /* by a team; else the server's own */
	struct template_row row; /* with is_built */
};

/* "[namespace/]name[:tag]" or an id, as that team may use it: its own, the server's, public ones of others (by id or
 * with their namespace). -ENOENT, in words for the client. */
int catalog_find(const struct front *f, const char *team, struct str ref, struct catalog_entry *ret, struct err *e);

/* A built one without looking at its builds. -ENOENT; -EPERM: another team's that is not public. */
int catalog_row(const struct front *f, const char *team, struct str ref, struct template_row *ret,
    struct snapshot_ref *ret_ref, struct err *e);

/* The build that the tag of a reference means: a tag, or the id of a build of that template. -ENOENT, in words for the
 * client. */
int catalog_build(const struct front *f, const struct template_row *row, const struct snapshot_ref *ref,
    struct build_row *ret, struct err *e);
bool is_build_id(const char *z); /* in the form of one: a UUID */

/* What sandboxes of that build get: its own, and for the rest what holds for all. */
void catalog_limits(const struct front *f, const struct template *tpl, const struct build_row *b,
    struct msg_limits *ret);
void catalog_names(const struct front *f, const struct template_row *r,
    char ret[SNAPSHOT_NAME_SIZE]); /* "namespace/name" */

/* What a sandbox of that template gets, and may have at most. */
void limits_of_template(const struct front *f, const struct template *tpl, struct limits_range *ret);
