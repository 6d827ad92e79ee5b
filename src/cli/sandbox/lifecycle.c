/* SPDX-License-Identifier: Apache-2.0 */
/* atoll pause, resume and timeout: control the lifetime of sandboxes. */
#include <stdio.h>
#include <stdlib.h>

#include "base/fd.h"
#include "base/str.h"
#include "cli/cli.h"
#include "cli/format.h"
#include "cli/settings.h"

#define TIMEOUT_MAX_S 1000000000u

typedef int change(struct atoll *a, const char *id, unsigned timeout_s, struct atoll_error *e);

static int pause_one(struct atoll *a, const char *id, unsigned timeout_s, struct atoll_error *e)
{
	(void)timeout_s;
	return atoll_pause(a, id, e);
}

static int pause_disk(struct atoll *a, const char *id, unsigned timeout_s, struct atoll_error *e)
{
	(void)timeout_s;
	return atoll_pause_disk(a, id, e);
}

/* Continues with the next sandbox after a failure. */
static int for_each(struct atoll *a, const char *what, char **ids, int n, unsigned timeout_s, change *fn)
{
	struct atoll_error e;
	int rc = 0;

	for (int i = 0; i < n; i++) {
		if (fn(a, ids[i], timeout_s, &e) < 0)
			rc = fail("%s '%s': %s", what, ids[i], e.text);
		else
			(void)printf("%s\n", ids[i]);
	}
	return rc;
}

static int run_pause(const struct verb *v, int argc, char **argv)
{
	struct settings_opts conn = { NULL };
	bool disk_only = false;
	const struct opt opts[] = { SETTINGS_OPTS(&conn), { "disk-only", 0, OPT_FLAG, &disk_only } };
	autoatoll struct atoll *a = NULL;
	int n,
	    rc = verb_connect(v, opts, ARRAY_LEN(opts), &conn,
		OPERANDS_SOME("missing operand: a sandbox ID is required"), argc, argv, &n, &a);

	if (rc >= 0)
		return rc;
	return for_each(a, "pause", argv, n, 0, disk_only ? pause_disk : pause_one);
}

static int run_resume(const struct verb *v, int argc, char **argv)
{
	struct settings_opts conn = { NULL };
	unsigned timeout_s = 0;
	bool boot = false;
	const struct opt opts[] = {
		SETTINGS_OPTS(&conn),
		{ "timeout", 0, OPT_SECONDS, &timeout_s },
		{ "boot", 0, OPT_FLAG, &boot },
	};
	autoatoll struct atoll *a = NULL;
	int n,
	    rc = verb_connect(v, opts, ARRAY_LEN(opts), &conn,
		OPERANDS_SOME("missing operand: a sandbox ID is required"), argc, argv, &n, &a);

	if (rc >= 0)
		return rc;
	return for_each(a, "resume", argv, n, timeout_s, boot ? atoll_boot : atoll_resume);
}

static int run_timeout(const struct verb *v, int argc, char **argv)
{
	struct settings_opts conn = { NULL };
	const struct opt opts[] = { SETTINGS_OPTS(&conn) };
	const struct operands want = { 2, 2, "missing operand: a sandbox ID and a lifetime are required" };
	autoatoll struct atoll *a = NULL;
	int n, rc = verb_operands(v, opts, ARRAY_LEN(opts), want, argc, argv, &n);
	uint64_t s;

	if (rc >= 0)
		return rc;
	if (duration_parse(str_of(argv[1]), TIMEOUT_MAX_S, &s) < 0)
		return usage_error(v, "'%s' is not a number of seconds or a duration such as 15m or 1h30m", argv[1]);
	if (settings_connect(&conn, &a) != 0)
		return EXIT_FAILURE;
	return for_each(a, "set the timeout of", argv, 1, (unsigned)s, atoll_set_timeout);
}

const struct verb verb_pause = {
	.name = "pause",
	.summary = "Pause sandboxes, including their processes",
	.synopsis = "[--disk-only] ID...",
	.help = "      --disk-only        save only the disk; the sandbox boots when it is resumed\n"
		"\n"
		"The timeout does not run while a sandbox is paused. Prints the ID of each sandbox that\n"
		"was paused. After a while, a paused sandbox is also written to disk and then survives a\n"
		"restart of the server; 'atoll info' shows whether it has been.\n"
		"\n" SETTINGS_HELP,
	.run = run_pause,
	.operand = OPERAND_IDS,
};

const struct verb verb_resume = {
	.name = "resume",
	.summary = "Resume paused sandboxes",
	.synopsis = "[--timeout SECONDS] [--boot] ID...",
	.help = "      --timeout SECONDS  lifetime from now (default: 300)\n"
		"      --boot             boot from the disk and discard the saved memory\n"
		"\n"
		"Prints the ID of each sandbox that was resumed.\n"
		"\n" SETTINGS_HELP,
	.run = run_resume,
	.operand = OPERAND_IDS,
};

const struct verb verb_timeout = {
	.name = "timeout",
	.summary = "Set the remaining lifetime of a sandbox",
	.synopsis = "ID SECONDS",
	.help = "The sandbox ends SECONDS (or 15m, 1h30m, ...) from now, whether that is earlier or later\n"
		"than before.\n"
		"\n" SETTINGS_HELP,
	.run = run_timeout,
	.operand = OPERAND_ID,
};
