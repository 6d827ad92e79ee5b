/* SPDX-License-Identifier: Apache-2.0 */
/* atoll notebook: exports the code that a sandbox ran as a Jupyter notebook. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/str.h"
#include "cli/cli.h"
#include "cli/settings.h"

static int take(void *user, const void *p, size_t n)
{
	return fwrite(p, 1, n, user) == n ? 0 : -1;
}

/* The file is created only once its content is complete. */
static int fetch_to_file(struct atoll *a, const char *id, const char *context, const char *file)
{
	autofree char *part = str_fmt("%s.part", file);
	FILE *to = part ? fopen(part, "we") : NULL;
	struct atoll_error e;

	if (!to)
		return fail("open '%s': %s", part ? part : file, strerrordesc_np(errno));
	int rc = atoll_notebook(a, id, context, take, to, &e) < 0 ? fail("%s", e.text) : 0;

	if (fclose(to) != 0 && rc == 0)
		rc = fail("write '%s': %s", part, strerrordesc_np(errno));
	if (rc == 0 && rename(part, file) < 0)
		rc = fail("write '%s': %s", file, strerrordesc_np(errno));
	if (rc != 0)
		(void)unlink(part);
	return rc;
}

static int run(const struct verb *v, int argc, char **argv)
{
	struct settings_opts conn = { NULL };
	const char *file = NULL, *context = NULL;
	const struct opt opts[] = { SETTINGS_OPTS(&conn), { "output", 'o', OPT_STR, &file },
		{ "context", 0, OPT_STR, &context } };
	autoatoll struct atoll *a = NULL;
	struct atoll_error e;
	int n,
	    rc = verb_operands(v, opts, ARRAY_LEN(opts), OPERANDS_ONE("missing operand: a sandbox ID is required"),
		argc, argv, &n);

	if (rc >= 0)
		return rc;
	if (settings_connect(&conn, &a) != 0)
		return EXIT_FAILURE;
	if (file)
		return fetch_to_file(a, argv[0], context, file);
	if (atoll_notebook(a, argv[0], context, take, stdout, &e) < 0)
		return fail("%s", e.text);
	return fflush(stdout) == 0 ? 0 : fail("write the output: %s", strerrordesc_np(errno));
}

const struct verb verb_notebook = {
	.name = "notebook",
	.summary = "Export what a sandbox ran as a Jupyter notebook",
	.synopsis = "[--output FILE] [--context ID] ID",
	.help = "  -o, --output FILE  write to FILE instead of standard output\n"
		"      --context ID   only code that ran in that context\n"
		"\n"
		"The notebook contains the code that ran in code contexts, in order, with its output:\n"
		"text, tables, images, charts and errors. It does not contain commands. By default it is\n"
		"available for a week after the sandbox ends.\n"
		"\n" SETTINGS_HELP,
	.run = run,
	.operand = OPERAND_ID,
};
