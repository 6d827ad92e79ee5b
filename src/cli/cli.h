/* SPDX-License-Identifier: Apache-2.0 */
/* cli: what the verbs of the program share: how it speaks, and the table of verbs.
 *
 * A verb gets its arguments without "atoll VERB" and returns the exit status: 0, EXIT_USAGE for a wrong call, EXIT_FAILURE for
 * everything else that goes wrong, or the status of the program it ran. */
#pragma once

#include <stdbool.h>

#define EXIT_USAGE 2

struct verb {
	const char *name;
	const char *summary;		/* one line of `atoll --help` */
	const char *synopsis;		/* behind "usage: atoll NAME" */
	const char *help;		/* what `atoll NAME --help` adds */
	int (*run)(const struct verb *v, int argc, char **argv);
};

extern const struct verb verb_create, verb_doctor, verb_env, verb_exec, verb_kill, verb_list, verb_run, verb_serve;

/* "atoll: ..." on stderr. */
void say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
int fail(const char *fmt, ...) __attribute__((format(printf, 1, 2)));	/* says it, returns EXIT_FAILURE */
int usage_error(const struct verb *v, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
