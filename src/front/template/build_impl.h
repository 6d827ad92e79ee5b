/* SPDX-License-Identifier: Apache-2.0 */
/* front/template/build_impl: shared by the files of a build. */
#pragma once

#include <sys/queue.h>

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

struct build_lines { /* output that is not a complete line yet */
	struct buf out, err;
};

struct build {
	TAILQ_ENTRY(build) link;
	struct builds *bs;
	struct build_row row;
	char name[TPL_NAME_SIZE];
	struct build_spec spec;
	bool running; /* false: it is waiting for its turn */
	uint32_t logged;

	/* what it starts from */
	char base_key[TEMPLATE_KEY_SIZE];
	char from[ID_SIZE];      /* saved state; "": the plain base */
	char base_from[ID_SIZE]; /* saved state of the base itself, without layers of the build */
	bool fresh;
	json_t *image_env;            /* object or NULL */
	char (*keys)[LAYER_KEY_SIZE]; /* keys[i]: key of the layer after i steps */
	char final_key[LAYER_KEY_SIZE];
	struct {
		char system_key[LAYER_KEY_SIZE], key[LAYER_KEY_SIZE];
		size_t n_packages;
	} recipe;
	size_t cached; /* number of steps that need not be run */

	/* progress */
	size_t at;                   /* number of finished steps */
	char phase[BUILD_STEP_SIZE]; /* "base", "3", "finalize" */
	json_t *base_env, *env, *homes;
	char user[BUILD_USER_SIZE];
	char workdir[BUILD_DIR_SIZE]; /* "": the home of the user */
	/* User and directory of a start command inherited from the base: those of the base, whatever the steps
	 * change. */
	struct {
		bool inherited;
		char user[BUILD_USER_SIZE], workdir[BUILD_DIR_SIZE];
	} start;
	struct build_lines lines;
	char label[64]; /* prefix of log lines */

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
		char name[ID_SIZE]; /* a saved state without a row; "": none */
		uint32_t what;      /* SAVED_* */
		bool memory;
	} save;
	void (*then)(struct build *b); /* called when the operation in progress has completed */
	void (*then_started)(struct build *b);
	void (*then_saved)(struct build *b, const char *name, uint32_t what);
};

/* build.c */
void build_log(struct build *b, const char *level, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
void build_output(struct build *b, bool is_stderr, struct str data); /* output of a command, logged under b->label */
void build_output_end(struct build *b);
/* Frees b. */
void build_fail(struct build *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void build_ready(struct build *b, const char *kept, uint32_t what); /* frees b */
void build_phase(struct build *b, const char *phase);
void build_base_ready(struct build *b); /* base_key and base_from are set: begins the steps */

void build_recipe(struct build *b); /* build_recipe.c: finds or builds the base, then calls build_base_ready() */

/* build_box.c: each function calls `then` on success, and fails the build otherwise. */
void build_box_start(struct build *b, void (*then)(struct build *b));
/* Runs atoll-build in the sandbox as root; takes ownership of args. */
void build_box_helper(struct build *b, json_t *args, void (*then)(struct build *b));
/* `then` writes the name to the store, and clears b->save.name once that is done. */
void build_box_save(struct build *b, bool memory, void (*then)(struct build *b, const char *name, uint32_t what));
void build_box_end(struct build *b);
const char *build_home(const struct build *b, const char *user);
const char *build_cwd(const struct build *b);

/* build_steps.c */
void steps_run(struct build *b);                  /* continues at step b->at; then calls final_run() */
int steps_replay(struct build *b, struct err *e); /* applies the effect of cached steps on variables */

/* build_final.c */
void final_run(struct build *b);
