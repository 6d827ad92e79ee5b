/* SPDX-License-Identifier: Apache-2.0 */
/* front/sandbox/volumes: the volumes of all teams: what the store knows of them, in memory, and how they come and go.
 *
 *	make	row MAKING -> the warden makes it -> row READY -> the client is told
 *	drop	row DROPPING -> the client is told -> the warden removes it -> no row
 *
 * So after a crash there is a row for everything that may be on the disk, and the next front ends what was begun. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/err.h"
#include "base/str.h"
#include "front/link/upstream.h"
#include "front/util/token.h"
#include "ipc/msg.h"
#include "loop/share.h"
#include "store/teams.h"

#define VOLUME_NAME_SIZE 129

struct front;
struct sandbox;

struct volume {
	LIST_ENTRY(volume) link;
	struct front *front;
	unsigned refs; /* the list's, and one of each who works with it */
	char id[ID_SIZE];
	char name[VOLUME_NAME_SIZE];
	char team[TEAM_ID_SIZE];
	char token[TOKEN_SIZE];
	bool ready;
	bool gone; /* from the list */
	uint64_t bytes, created_ms;
	struct share share;        /* of the front's time: all that requests for its files take */
	struct upstream_idle idle; /* connections to programs that serve it */
};

LIST_HEAD(volume_list, volume); /* oldest last */

bool volume_name_valid(struct str name);
/* a ready one, by id or name; NULL */
struct volume *volume_find(const struct front *f, const char *team, const char *which);
struct volume *volume_by_id(const struct front *f, struct str id); /* ... of any team */
struct volume *volume_ref(struct volume *v);
void volume_unref(struct volume *v);

/* fn is called when it is ready (no 0) or could not be made: then it is gone again. -EEXIST, or what the store says:
 * nothing was begun. */
typedef void volume_fn(void *user, struct volume *v, const struct err *e);
int volume_make(struct front *f, const char *team, const char *name, uint64_t bytes, const char *request, volume_fn *fn,
    void *user, struct err *e);
void volume_resize(struct volume *v, uint64_t bytes, const char *request, volume_fn *fn, void *user);
int volume_drop(struct volume *v, const char *request, struct err *e); /* nobody may have it mounted */

/* One that has it mounted, in whatever state; and how many there are. NULL: none. */
const struct sandbox *volume_user(const struct volume *v, size_t *ret_n);

int volumes_load(struct front *f, struct err *e);
void volumes_tick(struct front *f);          /* once a second: closes idle connections */
void volumes_make_room(struct front *f);     /* closes the one that has been idle for longest */
size_t volumes_conns(const struct front *f); /* idle or not */
void volumes_free(struct front *f);
