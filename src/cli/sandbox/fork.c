/* SPDX-License-Identifier: Apache-2.0 */
/* atoll fork: copies of a running sandbox. */
#include <stdio.h>
#include <stdlib.h>

#include "base/fd.h"
#include "cli/cli.h"
#include "cli/settings.h"
#include "client/atoll.h"

#define COUNT_MAX 100 /* of the API */

static int report(const char *id, const struct atoll_forks *f)
{
	int rc = f->n ? 0 : fail("fork '%s': the server made none", id);

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
	int n, rc = verb_operands(v, opts, ARRAY_LEN(opts), OPERANDS_ONE("which sandbox?"), argc, argv, &n);

	if (rc >= 0)
		return rc;
	if (count < 1 || count > COUNT_MAX)
		return usage_error(v, "--count must be 1 to %d", COUNT_MAX);
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
	.summary = "Copy a running sandbox, with all that runs in it",
	.synopsis = "[--count N] [--timeout SECONDS] [--with-secrets] ID",
	.help = "  -n, --count N          so many copies (default: 1)\n"
		"      --timeout SECONDS  when they end by themselves, from now (default: 300)\n"
		"      --with-secrets     let what is put into the requests of the source (headers of network rules, "
		"who it is to\n"
		"                         its proxy) be put into theirs, too; else they have the rest of its network "
		"rules\n\n"
		"The sandbox stands still for a moment and goes on. Prints the id of each copy.\n\n" SETTINGS_HELP,
	.run = run_fork,
	.operand = OPERAND_ID,
};
