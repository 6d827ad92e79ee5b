/* SPDX-License-Identifier: Apache-2.0 */
/* store/builds: versions of templates: their settings, build logs and results; and the layers that later builds
 * may start from. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "ipc/msg.h"
#include "store/templates.h"

#define BUILD_STATUS_SIZE 12
#define BUILD_STEP_SIZE 12
#define LAYER_KEY_SIZE 65 /* sha256 in hex */

struct build_row {
	char id[TPL_BUILD_SIZE];
	char template_id[TPL_ID_SIZE];
	char team[TEAM_ID_SIZE];
	char status[BUILD_STATUS_SIZE];   /* "waiting", "building", "ready", "error" */
	char base_key[TEMPLATE_KEY_SIZE]; /* image below it; "" until it is ready, as the next two */
	char kept[ID_SIZE];               /* the warden's name for it */
	uint32_t what;                    /* KEPT_* of front/sandbox/sandbox.h */
	uint64_t mem_bytes, disk_bytes;
	uint32_t cpu_permille, pids;
	char step[BUILD_STEP_SIZE]; /* where it failed */
	char reason[1024];          /* why */
	char tags[1024];            /* tags to be set, separated by blanks */
	uint64_t created_ms, finished_ms;
};

int builds_put(struct store *s, const struct build_row *r, struct err *e);              /* inserts or updates */
int builds_find(struct store *s, const char *id, struct build_row *ret, struct err *e); /* -ENOENT */
int builds_each(struct store *s, const char *template_id, int (*fn)(void *user, const struct build_row *r), void *user,
    struct err *e);
int builds_fail_all(struct store *s, const char *why, uint64_t now_ms, struct err *e); /* those in progress */

/* Clears the saved names of builds without a tag; fn gets each of these names. */
int builds_strip(struct store *s, int (*fn)(void *user, const char *kept), void *user, struct err *e);

struct build_log {
	uint64_t at_ms;
	const char *level, *step, *message; /* borrowed; step may be "" */
};

int build_logs_add(struct store *s, const char *build, const struct build_log *l, struct err *e);
/* Log entries from index `from` on (the first is 0), at most limit; min_level: 0 debug to 3 error. */
int build_logs_each(struct store *s, const char *build, uint64_t from, uint64_t limit, unsigned min_level,
    int (*fn)(void *user, const struct build_log *l), void *user, struct err *e);

struct layer_row {
	char key[LAYER_KEY_SIZE];
	char base_key[TEMPLATE_KEY_SIZE];
	char kept[ID_SIZE];
	uint32_t what;
	uint64_t bytes; /* approximate size when it was made */
	uint64_t created_ms, used_ms;
};

int layers_put(struct store *s, const struct layer_row *r, struct err *e);
/* -ENOENT; updates its time of use */
int layers_find(struct store *s, const char *key, uint64_t now_ms, struct layer_row *ret, struct err *e);
int layers_drop(struct store *s, const char *key, struct err *e);
/* least recently used first */
int layers_each(struct store *s, int (*fn)(void *user, const struct layer_row *r), void *user, struct err *e);

/* kept_users() counts the builds and layers with that name; kept_each() lists each name once. */
int kept_users(struct store *s, const char *kept, struct err *e);
int kept_each(struct store *s, int (*fn)(void *user, const char *kept), void *user, struct err *e);

/* Keys of the images and templates that builds, layers, snapshots and sandboxes are based on. Each once. */
int base_keys_each(struct store *s, int (*fn)(void *user, const char *key), void *user, struct err *e);
