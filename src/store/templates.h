/* SPDX-License-Identifier: Apache-2.0 */
/* store/templates: templates built by users, and the tags of their versions.
 *
 * A template has an id, and a name that is unique in its team. A build is one version of it; a tag names a
 * build. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "store/teams.h"

struct store;

#define TPL_ID_SIZE 24
#define TPL_NAME_SIZE 64
#define TPL_TAG_SIZE 64
#define TPL_BUILD_SIZE 40 /* a UUID */

struct template_row {
	char id[TPL_ID_SIZE];
	char team[TEAM_ID_SIZE];
	char name[TPL_NAME_SIZE];
	bool is_public;
	uint64_t created_ms, updated_ms, spawned_ms, spawn_count, build_count;
};

struct tag_row {
	char tag[TPL_TAG_SIZE];
	char build[TPL_BUILD_SIZE];
	uint64_t created_ms;
};

/* -EEXIST: the team has a template of that name */
int templates_add(struct store *s, const struct template_row *r, struct err *e);
int templates_drop(struct store *s, const char *id, struct err *e); /* with its tags, builds and their logs */
int templates_set_public(struct store *s, const char *id, bool is_public, uint64_t now_ms, struct err *e);
int templates_spawned(struct store *s, const char *id, uint64_t now_ms, struct err *e);

/* By id, of any team; by name, of that team. -ENOENT. */
int templates_by_id(struct store *s, const char *id, struct template_row *ret, struct err *e);
int templates_by_name(struct store *s, const char *team, const char *name, struct template_row *ret, struct err *e);

/* Of a team, or of all if team is NULL; newest first. fn must not write. */
int templates_each(struct store *s, const char *team, int (*fn)(void *user, const struct template_row *r), void *user,
    struct err *e);

/* Moves the tag to this build. */
int tags_put(struct store *s, const char *template_id, const struct tag_row *r, struct err *e);
int tags_drop(struct store *s, const char *template_id, const char *tag, struct err *e); /* number of rows */
/* -ENOENT */
int tags_find(struct store *s, const char *template_id, const char *tag, struct tag_row *ret, struct err *e);
int tags_each(struct store *s, const char *template_id, int (*fn)(void *user, const struct tag_row *r), void *user,
    struct err *e);
