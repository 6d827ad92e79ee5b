/* SPDX-License-Identifier: Apache-2.0 */
/* cli/settings: chooses the server and the API key.
 *
 * Options have precedence, then the E2B_* variables, then the files that a server on this machine wrote to its state
 * directory (readable by root only). A state directory given as an option has precedence over the variables. */
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

/* Entries for a verb's option table. */
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
	char *api_url;     /* NULL: derived from the domain */
	char *sandbox_url; /* NULL: derived from the domain */
	char *api_key, *domain;
};

#define SETTINGS_NONE ((struct settings) { NULL, NULL, NULL, NULL })

int settings_load(const struct settings_opts *o, struct settings *ret, struct err *e);
void settings_done(struct settings *s);
#define autosettings __attribute__((cleanup(settings_done)))

/* Reads a small file of one line, without the newline. The caller frees *ret. */
int settings_read_line(const char *dir, const char *name, char **ret);

struct atoll;
struct verb;
/* Prints a message on failure. Returns 0 or EXIT_FAILURE. */
int settings_connect(const struct settings_opts *o, struct atoll **ret);

/* Parses the options and handles --help. Returns -1 to continue, else the exit status. */
int verb_parse(const struct verb *v, const struct opt *opts, size_t n, int end_after, int argc, char **argv,
    int *ret_operands);

/* The number of operands of a verb, and the message if there are fewer. */
struct operands {
	int min, max;
	const char *missing;
};

#define OPERANDS_NONE ((struct operands) { 0, 0, NULL })
#define OPERANDS_ONE(missing) ((struct operands) { 1, 1, missing })
#define OPERANDS_ANY ((struct operands) { 0, INT_MAX, NULL })
#define OPERANDS_SOME(missing) ((struct operands) { 1, INT_MAX, missing })

/* Parses the options and counts the operands, which are moved to the front of argv. Returns -1 to continue, else the
 * exit status. */
int verb_operands(const struct verb *v, const struct opt *opts, size_t n, struct operands want, int argc, char **argv,
    int *ret_operands);

/* Does the same and connects, for verbs that have nothing else to check first. Returns -1 to continue with *ret. */
int verb_connect(const struct verb *v, const struct opt *opts, size_t n, const struct settings_opts *conn,
    struct operands want, int argc, char **argv, int *ret_operands, struct atoll **ret);

/* Does the same for verbs whose only option is --json. If json is NULL, there is no --json either. If ret_operands is
 * NULL, the number of operands is fixed by want. */
int verb_plain(const struct verb *v, struct operands want, int argc, char **argv, bool *json, int *ret_operands,
    struct atoll **ret);

void connection_cleanup(struct atoll **a);
#define autoatoll __attribute__((cleanup(connection_cleanup)))
