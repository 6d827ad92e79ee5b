/* SPDX-License-Identifier: Apache-2.0 */
/* cli/host/selftest: declarations shared by the parts of the escape suite.
 *
 * The attempts are programs (tests/escape/suite) that are copied into sandboxes. They print one line per attempt:
 * RESULT, NAME, GUARANTEE and DETAIL, separated by tabs, and "end N" after the last. What they cannot observe
 * (another sandbox, the host, the server), the runner checks from outside. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"
#include "client/atoll.h"

enum verdict { HELD, BROKEN, UNCLEAR, SKIPPED, VERDICTS };
extern const char *const verdict_name[VERDICTS]; /* as the programs print them */

struct finding {
	enum verdict verdict;
	char *name, *guarantee, *detail, *where;
};

struct selftest {
	struct atoll *a;
	const char *api_url;
	const char *suite;              /* directory of the programs */
	const char *template_id, *only; /* only: NULL, or a substring of the names to run */
	bool quick, loud;               /* quick: no bombs; loud: print failures at once */
	struct finding *v;
	size_t n, room;
	size_t counts[VERDICTS];
	size_t recorded; /* lines since the program started */
};

/* Records a result of the runner itself. */
void selftest_note(struct selftest *t, enum verdict v, const char *name, const char *guarantee, const char *where,
    const char *fmt, ...) __attribute__((format(printf, 6, 7)));
/* Records the result in a line printed by a program. Returns 1, or 0 if the line is something else. */
int selftest_line(struct selftest *t, const char *where, char *line);
bool selftest_wants(const struct selftest *t, const char *name);

/* --- sandboxes of the test --- */

#define PLACE "/tmp/atoll-escape"                     /* directory of the programs inside */
#define SELFTEST_MARK { "purpose", "atoll selftest" } /* metadata that marks its sandboxes */

/* Creates a sandbox with the programs in it. Returns NULL on error. */
struct atoll_sandbox *place_new(struct selftest *t, bool no_internet, struct err *e);
struct atoll_sandbox *place_with_volume(struct selftest *t, const struct atoll_pair *volume, struct err *e);
void place_end(struct selftest *t, struct atoll_sandbox *sb); /* accepts NULL */

struct job { /* a program to run in a sandbox */
	const char *const *argv;
	const char *as_user;
	const struct atoll_pair *envs;
	size_t n_envs;
	unsigned limit_s;
};

/* Called for each line of output. A value other than 0 stops the reading. */
typedef int line_fn(void *user, char *line);

/* Runs a program until it exits. Returns its exit status, or -1 and sets e if it did not exit or the sandbox ended. */
int job_run(struct atoll_sandbox *sb, const struct job *j, line_fn *fn, void *user, struct err *e);

/* A program that keeps running in the background. guest_wait() reads its output until fn returns 1 for a line. */
struct guest;
struct guest *guest_start(struct atoll_sandbox *sb, const struct job *j, line_fn *fn, void *user, struct err *e);
/* Returns 0 if fn returned 1, or -1 if the program exited or limit_s passed. */
int guest_wait(struct guest *g, unsigned limit_s, struct err *e);
void guest_look(struct guest *g); /* reads the output that has arrived */
void guest_free(struct guest *g);

/* --- parts --- */

/* runs all attempts inside, and checks what the neighbour and the host observed */
int selftest_walls(struct selftest *t, struct err *e);
void selftest_restore(struct selftest *t);
int selftest_bombs(struct selftest *t, struct err *e);
