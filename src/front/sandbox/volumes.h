/* SPDX-License-Identifier: Apache-2.0 */
/* front/sandbox/volumes: the volumes of all teams: a copy of their rows in memory, creation and deletion.
 *
 *	make	row MAKING -> the warden creates it -> row READY -> the client gets its answer
 *	drop	row DROPPING -> the client gets its answer -> the warden deletes it -> no row
 *
 * After a crash, everything that may be on disk has a row, and the next front finishes what was begun. */
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

struct sandboxes;
struct sandbox;

struct volume {
	LIST_ENTRY(volume) link;
	struct sandboxes *all;
	unsigned refs; /* one of the list, and one of each user */
	char id[ID_SIZE];
	char name[VOLUME_NAME_SIZE];
	char team[TEAM_ID_SIZE];
	char token[TOKEN_SIZE];
	bool ready;
	bool gone; /* removed from the list */
	uint64_t bytes, created_ms;
	struct share share;        /* its part of the front's time, for all requests for its files */
	struct upstream_idle idle; /* connections to the processes that serve its files */
};

bool volume_name_valid(struct str name);
/* A ready volume by id or name, or NULL. */
struct volume *volume_find(const struct sandboxes *all, const char *team, const char *which);
struct volume *volume_by_id(const struct sandboxes *all, struct str id); /* likewise, of any team */
struct volume *volume_ref(struct volume *v);
void volume_unref(struct volume *v);

/* fn is called when the volume is ready (no 0), or when creating it has failed and it has been removed again. If
 * volume_make() returns -EEXIST or an error of the store, nothing was begun and fn is not called. */
typedef void volume_fn(void *user, struct volume *v, const struct err *e);
int volume_make(struct sandboxes *all, const char *team, const char *name, uint64_t bytes, const char *request,
    volume_fn *fn, void *user, struct err *e);
void volume_resize(struct volume *v, uint64_t bytes, const char *request, volume_fn *fn, void *user);
int volume_drop(struct volume *v, const char *request, struct err *e); /* no sandbox may have it mounted */

/* Returns one sandbox that has it mounted, in any state, and their number; NULL: none. */
const struct sandbox *volume_user(const struct volume *v, size_t *ret_n);

int volumes_load(struct sandboxes *all, struct err *e);
void volumes_tick(struct sandboxes *all);          /* once a second: closes idle connections */
void volumes_make_room(struct sandboxes *all);     /* closes the connection that has been idle longest */
size_t volumes_conns(const struct sandboxes *all); /* number of connections, idle ones included */
void volumes_free(struct sandboxes *all);
