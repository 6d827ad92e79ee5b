/* SPDX-License-Identifier: Apache-2.0 */
/* cli/paths: locates the other programs, the templates and the directories of an instance. */
#pragma once

#include "base/err.h"

enum program {
	PROGRAM_ATOLLD,
	PROGRAM_FRONT,
	PROGRAM_INIT,
	PROGRAM_EGRESS,
	PROGRAM_AGENT,
	PROGRAM_REFUSALS,
	PROGRAM_WEBHOOKS,
	PROGRAM_OIDC,
	PROGRAM_PULL,
	N_PROGRAMS
};

struct paths {
	char *program[N_PROGRAMS]; /* the other programs that a server runs */
	char *build_script;        /* templates/build */
	char *engines;             /* directory of what builds engines */
};

/* Locates the programs relative to this one: in a build tree each in the directory of its sources, in an installation
 * in libexec/atoll. The variable ATOLL_TEMPLATES overrides the directory of templates. */
int paths_find(struct paths *ret, struct err *e);
void paths_done(struct paths *p);
#define autopaths __attribute__((cleanup(paths_done)))

int paths_check(const struct paths *p, struct err *e); /* checks that all of them exist */
const char *program_name(enum program which);          /* "atoll-front" */

/* Locates the directory of the programs of `atoll selftest`. The caller frees *ret. */
int path_find_suite(char **ret, struct err *e);

/* Returns the absolute form of a path without accessing the file. The caller frees it. Returns NULL if memory runs
 * out or the working directory is unknown. */
char *path_absolute(const char *path);

/* Returns the run directory for a state directory, which must be absolute: /run/atoll/main for the default one,
 * otherwise a name unique to the state directory, so that two instances do not collide. The caller frees it. */
char *path_run_dir(const char *state);
