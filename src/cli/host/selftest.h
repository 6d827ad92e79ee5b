/* SPDX-License-Identifier: Apache-2.0 */
/* cli/host/selftest: the escape suite against a server: what its parts share.
 *
 * The attempts are programs (tests/escape/suite) that are copied into sandboxes and print one line each: RESULT, NAME,
 * GUARANTEE and DETAIL with tabs between, and "end N" at last. What they cannot see for themselves (a neighbour, the
 * host, the server) the runner looks at from outside. */
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
	const char *template_id, *only; /* only: NULL, or a part of the names that are wanted */
	bool quick, loud;               /* without bombs; what fails is told at once */
	struct finding *v;
	size_t n, room;
	size_t counts[VERDICTS];
	size_t recorded; /* lines since the program began */
};

/* A finding of the runner's own, or of a line that a program printed. */
void selftest_note(struct selftest *t, enum verdict v, const char *name, const char *guarantee, const char *where,
    const char *fmt, ...) __attribute__((format(printf, 6, 7)));
/* 1: it was one, 0: something else. */
int selftest_line(struct selftest *t, const char *where, char *line);
bool selftest_wants(const struct selftest *t, const char *name);

/* --- sandboxes of the test --- */

#define PLACE "/tmp/atoll-escape"                     /* where the programs lie inside */
#define SELFTEST_MARK { "purpose", "atoll selftest" } /* metadata of its sandboxes */

/* with the programs in it; NULL */
struct atoll_sandbox *place_new(struct selftest *t, bool no_internet, struct err *e);
struct atoll_sandbox *place_with_volume(struct selftest *t, const struct atoll_pair *volume, struct err *e);
void place_end(struct selftest *t, struct atoll_sandbox *sb); /* NULL is fine */

struct job { /* one program in a sandbox */
	const char *const *argv;
	const char *as_user;
	const struct atoll_pair *envs;
	size_t n_envs;
	unsigned limit_s;
};

/* Gets each line of output; non-zero stops it all. */
typedef int line_fn(void *user, char *line);

/* To its end. Its exit status, or -1 (and e): it did not end, or the sandbox is gone. */
int job_run(struct atoll_sandbox *sb, const struct job *j, line_fn *fn, void *user, struct err *e);

/* One that stays: until it prints a line that fn likes (returns 1), then it is left running. */
struct guest;
struct guest *guest_start(struct atoll_sandbox *sb, const struct job *j, line_fn *fn, void *user, struct err *e);
/* 0: fn liked a line; -1: it ended or the time is over */
int guest_wait(struct guest *g, unsigned limit_s, struct err *e);
void guest_look(struct guest *g); /* takes what has come meanwhile */
void guest_free(struct guest *g);

/* --- parts --- */

/* all attempts inside, and what others saw of them */
int selftest_walls(struct selftest *t, struct err *e);
void selftest_restore(struct selftest *t);
int selftest_bombs(struct selftest *t, struct err *e);
