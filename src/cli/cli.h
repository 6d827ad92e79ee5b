/* SPDX-License-Identifier: Apache-2.0 */
/* cli: what the verbs share: messages, and the table of verbs.
 *
 * A verb gets its arguments without "atoll VERB" and returns the exit status: 0, EXIT_USAGE for a usage error,
 * EXIT_FAILURE for any other error, or the status of the program it ran. */
#pragma once

#include <stdbool.h>

#define EXIT_USAGE 2

enum operand { /* what the shells complete operands with */
	OPERAND_NONE,
	OPERAND_ID,   /* the first operand is a sandbox */
	OPERAND_IDS,  /* all operands are sandboxes */
	OPERAND_FILE, /* the first operand is a file */
	OPERAND_COPY, /* files, or sandboxes followed by a colon */
	OPERAND_LEVEL,
	OPERAND_KEY,    /* the first operand is an API key's name */
	OPERAND_TEAM,   /* the first operand is a team's name */
	OPERAND_VOLUME, /* the first operand is a volume's name */
};

struct verb {
	const char *name;
	const char *summary;  /* its line in `atoll --help` */
	const char *synopsis; /* printed after "usage: atoll NAME" */
	const char *help;     /* printed by `atoll NAME --help` after the synopsis */
	int (*run)(const struct verb *v, int argc, char **argv);
	enum operand operand;
	const struct verb *const *subs; /* subcommands, NULL-terminated; run is verb_group() */
};

extern const struct verb verb_audit, verb_notebook, verb_backup, verb_complete, verb_cp, verb_create, verb_doctor,
    verb_env, verb_exec, verb_explain, verb_fork, verb_info, verb_key, verb_kill, verb_limits, verb_list,
    verb_log_level, verb_logs, verb_metrics, verb_pause, verb_purge, verb_reap, verb_restore, verb_resume, verb_run,
    verb_serve, verb_shell, verb_team, verb_template, verb_timeout, verb_tls, verb_top, verb_usage, verb_volume,
    verb_snapshot;

extern const struct verb verb_capacity, verb_console, verb_engine, verb_selftest, verb_webhook;
extern const struct verb verb_mcp, verb_policy, verb_say, verb_session; /* agent layer */

extern const struct verb *const verbs[]; /* in the order of --help; NULL-terminated */

int verb_group(const struct verb *v, int argc, char **argv);
const struct verb *verb_find(const struct verb *const *v, const char *name); /* by the last word of its name; or NULL */

/* Prints "atoll: ..." on stderr. */
void say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
int fail(const char *fmt, ...) __attribute__((format(printf, 1, 2))); /* say(), then returns EXIT_FAILURE */
int usage_error(const struct verb *v, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
