/* SPDX-License-Identifier: Apache-2.0 */
/* front/template/build_impl: what the files of a build share. */
#pragma once

#include "base/buf.h"
#include "front/link/box.h"
#include "front/link/init_run.h"
#include "front/template/build.h"
#include "front/template/build_spec.h"
#include "ipc/msg.h"

struct image_call;
struct init_build;
struct init_put;
struct timer;

struct build_lines { /* output that is not a whole line yet */
	struct buf out, err;
};

struct build {
	TAILQ_ENTRY(build) link;
	struct front *front;
	struct build_row row;
	char name[TPL_NAME_SIZE];
	struct build_spec spec;
	bool running; /* else it waits for its turn */
	uint32_t logged;

	/* where it begins */
	char base_key[TEMPLATE_KEY_SIZE];
	char from[ID_SIZE];      /* "": the base as it is */
	char base_from[ID_SIZE]; /* ... without any layer of ours */
	bool fresh;
	json_t *image_env;            /* object or NULL */
	char (*keys)[LAYER_KEY_SIZE]; /* keys[i]: after i steps */
	char final_key[LAYER_KEY_SIZE];
	struct {
		char system_key[LAYER_KEY_SIZE], key[LAYER_KEY_SIZE];
		size_t n_packages;
	} recipe;
	size_t cached; /* steps that need not be run */

	/* where it is */
	size_t at;                   /* steps that are done */
	char phase[BUILD_STEP_SIZE]; /* "base", "3", "finalize" */
	json_t *base_env, *env, *homes;
	char user[BUILD_USER_SIZE];
	char workdir[BUILD_DIR_SIZE]; /* "": the user's home */
	/* who runs a start command that is the base's, and where: its own, whatever the steps change */
	struct {
		bool inherited;
		char user[BUILD_USER_SIZE], workdir[BUILD_DIR_SIZE];
	} start;
	struct build_lines lines;
	char label[64]; /* of the lines */

	/* the sandbox */
	struct box box;
	struct image_call *image;
	struct init_run *run, *start_run;
	struct init_put *put;
	struct init_build *helper;
	struct timer *timer, *deadline;
	struct buf facts;
	uint64_t disk_bytes, disk_before;
	uint64_t ready_until_ms;
	bool start_failed;
	struct {
		char name[ID_SIZE]; /* "": nothing is saved that has no row yet */
		uint32_t what;      /* SAVED_* */
		bool memory;
	} save;
	void (*then)(struct build *b); /* after what is under way */
	void (*then_started)(struct build *b);
	void (*then_saved)(struct build *b, const char *name, uint32_t what);
};

/* build.c */
void build_log(struct build *b, const char *level, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
void build_output(struct build *b, bool is_stderr, struct str data); /* of a command, under b->label */
void build_output_end(struct build *b);
/* b is gone on return */
void build_fail(struct build *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void build_ready(struct build *b, const char *kept, uint32_t what); /* likewise */
void build_phase(struct build *b, const char *phase);
void build_base_ready(struct build *b); /* base_key and base_from are known: the steps begin */

void build_recipe(struct build *b); /* build_recipe.c: finds or makes the base, then build_base_ready() */

/* build_box.c: each calls `then` when it has gone well, and fails the build if not. */
void build_box_start(struct build *b, void (*then)(struct build *b));
/* atoll-build inside, as root; takes args */
void build_box_helper(struct build *b, json_t *args, void (*then)(struct build *b));
/* `then` writes the name to the store, and empties b->save.name when that is done. */
void build_box_save(struct build *b, bool memory, void (*then)(struct build *b, const char *name, uint32_t what));
void build_box_end(struct build *b);
const char *build_home(const struct build *b, const char *user);
const char *build_cwd(const struct build *b);

/* build_steps.c */
void steps_run(struct build *b);                  /* from b->at on; then final_run() */
int steps_replay(struct build *b, struct err *e); /* what cached steps leave behind in variables */

/* build_final.c */
void final_run(struct build *b);
