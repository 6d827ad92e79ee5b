/* SPDX-License-Identifier: Apache-2.0 */
/* cli/settings: which server to talk to, and with which key.
 *
 * Options come first, then the E2B_* variables, then what a server on this machine left in its state directory (which
 * only root can read). A state directory that is given as an option beats the variables. */
#pragma once

#include <limits.h>
#include <stdbool.h>

#include "base/err.h"
#include "cli/opts.h"

#define STATE_DIR_DEFAULT "/var/lib/atoll"

struct settings_opts {
	const char *api_url, *sandbox_url, *api_key, *state_dir;
	bool mock;
};

/* Entries for a verb's table. */
#define SETTINGS_OPTS(s) \
	{ "api-url", 0, OPT_STR, &(s)->api_url }, { "sandbox-url", 0, OPT_STR, &(s)->sandbox_url }, \
	    { "api-key", 0, OPT_STR, &(s)->api_key }, { "state", 0, OPT_STR, &(s)->state_dir }, \
	{ \
		"mock", 0, OPT_FLAG, &(s)->mock \
	}

#define SETTINGS_SYNOPSIS "[--state DIR] [--api-url URL] [--api-key KEY]"
#define SETTINGS_HELP \
	"The server is selected by the options --api-url, --sandbox-url and --api-key, else by the\n" \
	"variables E2B_API_URL, E2B_SANDBOX_URL and E2B_API_KEY, else by the state directory\n" STATE_DIR_DEFAULT \
	" (or --state DIR), which only root can read. E2B_DOMAIN replaces the URLs:\n" \
	"https://api.DOMAIN, and host names of sandboxes below DOMAIN. --mock uses no server, but an\n" \
	"emulation that lasts as long as the command.\n"

struct settings {
	char *api_url;     /* NULL: by the domain */
	char *sandbox_url; /* NULL: by the domain */
	char *api_key, *domain;
};

#define SETTINGS_NONE ((struct settings) { NULL, NULL, NULL, NULL })

int settings_load(const struct settings_opts *o, struct settings *ret, struct err *e);
void settings_done(struct settings *s);
#define autosettings __attribute__((cleanup(settings_done)))

/* One line of a small file, without its end; malloc. */
int settings_read_line(const char *dir, const char *name, char **ret);

struct atoll;
struct verb;
/* says what is wrong; 0 or EXIT_FAILURE */
int settings_connect(const struct settings_opts *o, struct atoll **ret);

/* Parses; on --help prints it. -1: go on, else the exit status. */
int verb_parse(const struct verb *v, const struct opt *opts, size_t n, int end_after, int argc, char **argv,
    int *ret_operands);

/* How many operands a verb wants, and what it says when there are fewer. */
struct operands {
	int min, max;
	const char *missing;
};

#define OPERANDS_NONE ((struct operands) { 0, 0, NULL })
#define OPERANDS_ONE(missing) ((struct operands) { 1, 1, missing })
#define OPERANDS_ANY ((struct operands) { 0, INT_MAX, NULL })
#define OPERANDS_SOME(missing) ((struct operands) { 1, INT_MAX, missing })

/* Parses and counts the operands, which are at the start of argv then. -1: go on, else the exit status. */
int verb_operands(const struct verb *v, const struct opt *opts, size_t n, struct operands want, int argc, char **argv,
    int *ret_operands);

/* And connects, for verbs that have nothing else to check before. -1: go on with *ret. */
int verb_connect(const struct verb *v, const struct opt *opts, size_t n, const struct settings_opts *conn,
    struct operands want, int argc, char **argv, int *ret_operands, struct atoll **ret);

/* The same for verbs without options of their own but --json. json NULL: nor that; ret_operands NULL: want says how
 * many. */
int verb_plain(const struct verb *v, struct operands want, int argc, char **argv, bool *json, int *ret_operands,
    struct atoll **ret);

void connection_cleanup(struct atoll **a);
#define autoatoll __attribute__((cleanup(connection_cleanup)))
