/* SPDX-License-Identifier: Apache-2.0 */
/* cli/paths: where the other programs and the templates are, and the directories of an instance. */
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
	PROGRAM_PULL,
	N_PROGRAMS
};

struct paths {
	char *program[N_PROGRAMS]; /* that a server needs beside this one */
	char *build_script;        /* templates/build */
};

/* Next to this program: in the build tree each in the folder of its sources, installed in libexec/atoll.
 * ATOLL_TEMPLATES names another directory of templates. */
int paths_find(struct paths *ret, struct err *e);
void paths_done(struct paths *p);
#define autopaths __attribute__((cleanup(paths_done)))

int paths_check(const struct paths *p, struct err *e); /* are they all there? */
const char *program_name(enum program which);          /* "atoll-front" */

/* Where the programs of `atoll selftest` are; malloc. */
int path_find_suite(char **ret, struct err *e);

/* Absolute form of a path, without looking at the file system; malloc, NULL when out of memory or without a
 * directory. */
char *path_absolute(const char *path);

/* The run directory that goes with a state directory: /run/atoll/main for the usual one, else a name of its own per
 * state directory, so that two instances do not meet. state must be absolute. */
char *path_run_dir(const char *state);
