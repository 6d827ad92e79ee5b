/* SPDX-License-Identifier: Apache-2.0 */
/* front/sandbox/snapshots: what was saved of sandboxes to start others from, under names that clients use like those of
 * templates.
 *
 * A snapshot is a template of its own (an id, perhaps an alias) with a tag; making another of the same name and tag
 * takes the place of the first. All of them are in memory, and in the store before anybody is told. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/err.h"
#include "base/str.h"
#include "front/sandbox/template.h"
#include "ipc/msg.h"
#include "store/teams.h"

#define SNAPSHOT_TAG_SIZE 64
#define SNAPSHOT_NAME_SIZE (2 * TEMPLATE_NAME_SIZE + SNAPSHOT_TAG_SIZE)

struct front;
struct snapshot_row;

struct snapshot {
	LIST_ENTRY(snapshot) link;
	char template_id[TEMPLATE_ID_SIZE];
	char alias[TEMPLATE_NAME_SIZE]; /* "": none */
	char tag[SNAPSHOT_TAG_SIZE];
	char team[TEAM_ID_SIZE];
	char source[ID_SIZE]; /* the sandbox */
	char saved[ID_SIZE];  /* name, for the warden */
	uint32_t what;        /* SAVED_* of front/sandbox/sandbox.h */
	struct template base;
	struct msg_limits limits;
	char *volumes; /* that its source had mounted: JSON as in struct spec, or NULL; owned */
	uint64_t created_ms;
};

LIST_HEAD(snapshot_list, snapshot); /* newest first */

struct snapshot_ref {                       /* "[namespace/]name[:tag]", in lower case */
	char namespace[TEMPLATE_NAME_SIZE]; /* "": none was given */
	char name[TEMPLATE_NAME_SIZE];
	char tag[SNAPSHOT_TAG_SIZE]; /* "default" if none was given */
	bool has_tag;
};

int snapshot_ref_parse(struct str text, struct snapshot_ref *ret, struct err *e); /* -EINVAL, for the client */

/* What a team's own names begin with. */
/* each version of one is a build to its clients */
void snapshot_build_id(const struct snapshot *sn, char ret[TPL_BUILD_SIZE]);
void snapshot_namespace(const struct front *f, const char *team, char ret[TEMPLATE_NAME_SIZE]);

/* The team's own of that name; NULL: there is none. */
struct snapshot *snapshot_find(const struct front *f, const char *team, const struct snapshot_ref *ref);
/* a ref without a tag: any */
bool snapshot_matches(const struct front *f, const struct snapshot *sn, const struct snapshot_ref *ref);

void snapshot_names(const struct front *f, const struct snapshot *sn, char id[SNAPSHOT_NAME_SIZE],
    char name[SNAPSHOT_NAME_SIZE]);

/* Gives it its template id: a new one, or that of the team's other tags of the same name. */
void snapshot_place(const struct front *f, struct snapshot *sn);

/* Takes sn over, also on failure. What had its name is forgotten. */
int snapshot_add(struct front *f, struct snapshot *sn, struct err *e);
int snapshot_remove(struct front *f, struct snapshot *sn, struct err *e); /* with what is saved */

int snapshots_load(struct front *f, bool (*is_saved)(void *user, const char *name, bool *ret_memory), void *user,
    struct err *e);
void snapshots_free(struct front *f);
