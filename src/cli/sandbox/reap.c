/* SPDX-License-Identifier: Apache-2.0 */
/* atoll reap: kills sandboxes that have been idle for a while. */
#include "cli/sandbox/reap.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "cli/cli.h"
#include "cli/format.h"
#include "cli/settings.h"

bool reap_is_idle(const struct atoll_info *i, uint64_t now, uint64_t idle_s)
{
	int64_t s = span_s(i->last_activity_at ? i->last_activity_at : i->started_at, now, false);

	return s >= 0 && (uint64_t)s >= idle_s;
}

struct job {
	unsigned idle_s;
	bool dry_run, paused;
};

static bool is_meant(const struct job *j, const struct atoll_info *i)
{
	return (j->paused || strcmp(i->state, "paused") != 0) && reap_is_idle(i, now_ms(), j->idle_s);
}

/* Checks again right before the kill: the list may be old, and the sandbox may have been used since. */
static int reap_one(struct atoll *a, const struct job *j, const char *id)
{
	struct atoll_list *l;
	struct atoll_error e;
	int rc = atoll_get_sandbox(a, id, &l, &e);

	if (rc == -ENOENT)
		return 0;
	if (rc < 0)
		return fail("inspect '%s': %s", id, e.text);
	bool meant = is_meant(j, &l->v[0]);
	atoll_list_free(l);
	if (!meant)
		return 0;
	rc = j->dry_run ? 0 : atoll_kill(a, id, &e);
	if (rc < 0 && rc != -ENOENT)
		return fail("kill '%s': %s", id, e.text);
	if (rc == 0)
		(void)printf("%s\n", id);
	return 0;
}

static int reap(struct atoll *a, const struct job *j)
{
	struct atoll_list *l;
	struct atoll_error e;
	int rc = 0;

	if (atoll_list_sandboxes(a, &l, &e) < 0)
		return fail("list sandboxes: %s", e.text);
	for (size_t i = 0; i < l->n; i++) {
		if (is_meant(j, &l->v[i]))
			rc |= reap_one(a, j, l->v[i].id);
	}
	atoll_list_free(l);
	return rc;
}

static int run(const struct verb *v, int argc, char **argv)
{
	struct settings_opts conn = { NULL };
	struct job j = { .idle_s = 0 };
	const struct opt opts[] = {
		SETTINGS_OPTS(&conn),
		{ "idle", 0, OPT_DURATION, &j.idle_s },
		{ "dry-run", 'n', OPT_FLAG, &j.dry_run },
		{ "paused", 0, OPT_FLAG, &j.paused },
	};
	autoatoll struct atoll *a = NULL;
	int n, rc = verb_operands(v, opts, ARRAY_LEN(opts), OPERANDS_NONE, argc, argv, &n);

	if (rc >= 0)
		return rc;
	if (j.idle_s == 0)
		return usage_error(v, "--idle is required, with a duration above 0, such as 1h");
	if (settings_connect(&conn, &a) != 0)
		return EXIT_FAILURE;
	return reap(a, &j);
}

const struct verb verb_reap = {
	.name = "reap",
	.summary = "Kill idle sandboxes",
	.synopsis = "--idle DURATION [--paused] [--dry-run]",
	.help = "      --idle DURATION  minimum time since the last call into the sandbox: 90s, 15m, 1h, 2d\n"
		"      --paused         include paused sandboxes\n"
		"  -n, --dry-run        only print which sandboxes would be killed\n"
		"\n"
		"Prints the ID of each sandbox that was killed. Only calls into a sandbox count as use;\n"
		"processes running in it do not.\n"
		"\n" SETTINGS_HELP,
	.run = run,
};
