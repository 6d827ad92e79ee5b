/* SPDX-License-Identifier: Apache-2.0 */
/* atoll fork: creates copies of a running sandbox. */
#include <stdio.h>
#include <stdlib.h>

#include "base/fd.h"
#include "cli/cli.h"
#include "cli/settings.h"
#include "client/atoll.h"

#define COUNT_MAX 100 /* limit of the API */

static int report(const char *id, const struct atoll_forks *f)
{
	int rc = f->n ? 0 : fail("fork '%s': the server created no copy", id);

	for (size_t i = 0; i < f->n; i++) {
		if (f->v[i].id)
			(void)printf("%s\n", f->v[i].id);
		else
			rc = fail("fork '%s': %s", id, f->v[i].error);
	}
	return rc;
}

static int run_fork(const struct verb *v, int argc, char **argv)
{
	struct settings_opts conn = { NULL };
	struct atoll_fork_spec spec = { .timeout_s = 300 };
	int64_t count = 1;
	const struct opt opts[] = {
		SETTINGS_OPTS(&conn),
		{ "count", 'n', OPT_NUMBER, &count },
		{ "timeout", 0, OPT_SECONDS, &spec.timeout_s },
		{ "with-secrets", 0, OPT_FLAG, &spec.inherit_secrets },
	};
	autoatoll struct atoll *a = NULL;
	struct atoll_forks *f;
	struct atoll_error e;
	int n,
	    rc = verb_operands(v, opts, ARRAY_LEN(opts), OPERANDS_ONE("missing operand: a sandbox ID is required"),
		argc, argv, &n);

	if (rc >= 0)
		return rc;
	if (count < 1 || count > COUNT_MAX)
		return usage_error(v, "--count must be from 1 to %d", COUNT_MAX);
	spec.count = (unsigned)count;
	if (settings_connect(&conn, &a) != 0)
		return EXIT_FAILURE;
	if (atoll_fork(a, argv[0], &spec, &f, &e) < 0)
		return fail("fork '%s': %s", argv[0], e.text);
	rc = report(argv[0], f);
	atoll_forks_free(f);
	return rc;
}

const struct verb verb_fork = {
	.name = "fork",
	.summary = "Copy a running sandbox, including its processes",
	.synopsis = "[--count N] [--timeout SECONDS] [--with-secrets] ID",
	.help = "  -n, --count N          number of copies (default: 1)\n"
		"      --timeout SECONDS  lifetime of the copies (default: 300)\n"
		"      --with-secrets     give the copies the values that are inserted into the source's\n"
		"                         requests (headers of network rules, proxy credentials); without\n"
		"                         this option they get only the other network rules\n"
		"\n"
		"The sandbox is frozen for a moment and then continues. Prints the ID of each copy.\n"
		"\n" SETTINGS_HELP,
	.run = run_fork,
	.operand = OPERAND_ID,
};
