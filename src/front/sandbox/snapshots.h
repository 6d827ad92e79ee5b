/* SPDX-License-Identifier: Apache-2.0 */
/* front/sandbox/snapshots: saved states of sandboxes that others can be started from, under names that clients use
 * like those of templates.
 *
 * A snapshot is a template with an id, a tag and perhaps an alias. A new snapshot with the same name and tag
 * replaces the old one. All snapshots are in memory; a new one is in the store before the client gets its answer. */
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

struct sandboxes;
struct snapshot_row;

struct snapshot {
	LIST_ENTRY(snapshot) link;
	char template_id[TEMPLATE_ID_SIZE];
	char alias[TEMPLATE_NAME_SIZE]; /* "": none */
	char tag[SNAPSHOT_TAG_SIZE];
	char team[TEAM_ID_SIZE];
	char source[ID_SIZE]; /* id of the sandbox that it was made from */
	char saved[ID_SIZE];  /* name of the saved state, for the warden */
	uint32_t what;        /* SAVED_* of front/link/saved.h */
	struct template base;
	struct msg_limits limits;
	char *volumes; /* volumes that the source had mounted: JSON as in struct spec, or NULL; owned */
	uint64_t created_ms;
};

struct snapshot_ref {                       /* "[namespace/]name[:tag]", in lower case */
	char namespace[TEMPLATE_NAME_SIZE]; /* "": none was given */
	char name[TEMPLATE_NAME_SIZE];
	char tag[SNAPSHOT_TAG_SIZE]; /* "default" if none was given */
	bool has_tag;
};

/* -EINVAL, with a message for the client */
int snapshot_ref_parse(struct str text, struct snapshot_ref *ret, struct err *e);

/* snapshot_namespace(): the prefix of a team's own names. */
/* Each version of a snapshot appears to clients as a build. */
void snapshot_build_id(const struct snapshot *sn, char ret[TPL_BUILD_SIZE]);
void snapshot_namespace(const struct sandboxes *all, const char *team, char ret[TEMPLATE_NAME_SIZE]);

/* The team's own snapshot of that name, or NULL. */
struct snapshot *snapshot_find(const struct sandboxes *all, const char *team, const struct snapshot_ref *ref);
/* A ref without a tag matches any tag. */
bool snapshot_matches(const struct sandboxes *all, const struct snapshot *sn, const struct snapshot_ref *ref);

void snapshot_names(const struct sandboxes *all, const struct snapshot *sn, char id[SNAPSHOT_NAME_SIZE],
    char name[SNAPSHOT_NAME_SIZE]);

/* Sets its template id: a new one, or that of the team's other snapshots with the same name. */
void snapshot_place(const struct sandboxes *all, struct snapshot *sn);

/* Takes ownership of sn, also on failure. Replaces the snapshot that had its name and tag. */
int snapshot_add(struct sandboxes *all, struct snapshot *sn, struct err *e);
int snapshot_remove(struct sandboxes *all, struct snapshot *sn, struct err *e); /* deletes its saved state as well */

int snapshots_load(struct sandboxes *all, bool (*is_saved)(void *user, const char *name, bool *ret_memory), void *user,
    struct err *e);
void snapshots_free(struct sandboxes *all);
