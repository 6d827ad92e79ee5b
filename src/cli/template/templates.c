/* SPDX-License-Identifier: Apache-2.0 */
/* atoll template: builds, lists, names and removes templates. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "cli/cli.h"
#include "cli/format.h"
#include "cli/packed/packed.h"
#include "cli/settings.h"
#include "cli/table.h"
#include "cli/template/build.h"
#include "cli/template/template_file.h"

#define ONE_TEMPLATE OPERANDS_ONE("missing operand: one template, by name or ID")

/* --- build -------------------------------------------------------------------------------------------------------- */

static int run_build(const struct verb *v, int argc, char **argv)
{
	struct settings_opts conn = { NULL };
	struct pairs args autopairs = { NULL };
	struct build_opts o = { .args = &args };
	int64_t cpus = 0, memory_mb = 0;
	const struct opt opts[] = {
		SETTINGS_OPTS(&conn),
		{ "tag", 't', OPT_STR, &o.name },
		{ "file", 'f', OPT_STR, &o.file },
		{ "build-arg", 0, OPT_PAIR, &args },
		{ "target", 0, OPT_STR, &o.target },
		{ "cpus", 0, OPT_NUMBER, &cpus },
		{ "memory-mb", 0, OPT_NUMBER, &memory_mb },
		{ "start", 0, OPT_STR, &o.start },
		{ "ready", 0, OPT_STR, &o.ready },
		{ "no-start", 0, OPT_FLAG, &o.no_start },
		{ "image", 0, OPT_STR, &o.image },
		{ "from-template", 0, OPT_FLAG, &o.from_template },
		{ "no-cache", 0, OPT_FLAG, &o.no_cache },
		{ "plain", 0, OPT_FLAG, &o.plain },
		{ "registry-user", 0, OPT_STR, &o.registry_user },
		{ "registry-password", 0, OPT_STR, &o.registry_password },
	};
	autoatoll struct atoll *a = NULL;
	int n,
	    rc = verb_operands(v, opts, ARRAY_LEN(opts),
		OPERANDS_ONE("missing operand: a directory, Dockerfile, image or archive"), argc, argv, &n);

	if (rc >= 0)
		return rc;
	if (!o.name || !*o.name)
		return usage_error(v, "-t NAME is required");
	if (o.start && o.no_start)
		return usage_error(v, "--start and --no-start are mutually exclusive");
	if (cpus > 1024 || memory_mb > INT_MAX)
		return usage_error(v, "--cpus or --memory-mb is too large");
	o.source = argv[0];
	o.cpus = (unsigned)cpus;
	o.memory_mb = (unsigned)memory_mb;
	if (!o.registry_password)
		o.registry_password = getenv("ATOLL_REGISTRY_PASSWORD");
	if (settings_connect(&conn, &a) != 0)
		return EXIT_FAILURE;
	return build_run(a, &o);
}

/* --- other verbs -------------------------------------------------------------------------------------------------- */

static int print_templates(const struct atoll_templates *l)
{
	static const struct column columns[] = {
		{ "NAME", false },
		{ "ID", false },
		{ "STATUS", false },
		{ "CPUS", true },
		{ "MEMORY MB", true },
		{ "BUILDS", true },
		{ "SANDBOXES", true },
		{ "AGE", true },
		{ "NOTE", false },
	};
	autotable struct table t = TABLE_INIT(columns);
	uint64_t now = now_ms();

	for (size_t i = 0; i < l->n; i++) {
		const struct atoll_template *x = &l->v[i];
		char age[FORMAT_SIZE];

		span_format(x->created_at, now, false, age);
		table_add(&t, x->name);
		table_add(&t, x->id);
		table_add(&t, x->status);
		table_addf(&t, "%u", x->cpu_count);
		table_addf(&t, "%llu", (unsigned long long)x->memory_mb);
		table_addf(&t, "%lld", (long long)x->build_count);
		table_addf(&t, "%lld", (long long)x->spawn_count);
		table_add(&t, age);
		table_add(&t, x->is_public ? "public" : "");
	}
	return table_print(&t);
}

static int run_list(const struct verb *v, int argc, char **argv)
{
	bool json = false;
	autoatoll struct atoll *a = NULL;
	struct atoll_templates *l;
	struct atoll_error e;
	int rc = verb_plain(v, OPERANDS_NONE, argc, argv, &json, NULL, &a);

	if (rc >= 0)
		return rc;
	if (atoll_templates_list(a, &l, &e) < 0)
		return fail("%s", e.text);
	rc = json ? (puts(l->json), 0) : print_templates(l);
	atoll_templates_free(l);
	return rc;
}

static int run_inspect(const struct verb *v, int argc, char **argv)
{
	autoatoll struct atoll *a = NULL;
	autofree char *json = NULL;
	struct atoll_error e;
	int rc = verb_plain(v, ONE_TEMPLATE, argc, argv, NULL, NULL, &a);

	if (rc >= 0)
		return rc;
	if (atoll_template_inspect(a, argv[0], &json, &e) < 0)
		return fail("%s", e.text);
	(void)puts(json);
	return 0;
}

static int run_rm(const struct verb *v, int argc, char **argv)
{
	autoatoll struct atoll *a = NULL;
	struct atoll_error e;
	int n,
	    status = 0,
	    rc = verb_plain(v, OPERANDS_SOME("missing operand: a template, by name or ID"), argc, argv, NULL, &n, &a);

	if (rc >= 0)
		return rc;
	for (int i = 0; i < n; i++) {
		if (atoll_template_remove(a, argv[i], &e) < 0)
			status = fail("%s", e.text);
		else
			(void)puts(argv[i]);
	}
	return status;
}

static int run_tag(const struct verb *v, int argc, char **argv)
{
	struct settings_opts conn = { NULL };
	bool drop = false;
	const struct opt opts[] = { SETTINGS_OPTS(&conn), { "remove", 0, OPT_FLAG, &drop } };
	autoatoll struct atoll *a = NULL;
	struct atoll_error e;
	int n,
	    rc = verb_connect(v, opts, ARRAY_LEN(opts), &conn,
		((struct operands) { 2, INT_MAX, "missing operand: a template and at least one tag are required" }),
		argc, argv, &n, &a);

	if (rc >= 0)
		return rc;
	const char *const *tags = (const char *const *)argv + 1;

	rc = drop ? atoll_template_untag(a, argv[0], tags, (size_t)n - 1, &e)
		  : atoll_template_tag(a, argv[0], tags, (size_t)n - 1, &e);
	return rc < 0 ? fail("%s", e.text) : 0;
}

static int run_publish(const struct verb *v, int argc, char **argv)
{
	struct settings_opts conn = { NULL };
	bool back = false;
	const struct opt opts[] = { SETTINGS_OPTS(&conn), { "private", 0, OPT_FLAG, &back } };
	autoatoll struct atoll *a = NULL;
	struct atoll_error e;
	int n, rc = verb_connect(v, opts, ARRAY_LEN(opts), &conn, ONE_TEMPLATE, argc, argv, &n, &a);

	if (rc >= 0)
		return rc;
	return atoll_template_public(a, argv[0], !back, &e) < 0 ? fail("%s", e.text) : 0;
}

static int run_gc(const struct verb *v, int argc, char **argv)
{
	struct settings_opts conn = { NULL };
	int64_t max_mb = -1;
	bool all = false;
	const struct opt opts[] = { SETTINGS_OPTS(&conn), { "max-mb", 0, OPT_NUMBER, &max_mb },
		{ "all", 0, OPT_FLAG, &all } };
	autoatoll struct atoll *a = NULL;
	struct atoll_error e;
	struct atoll_gc gone;
	int n, rc = verb_connect(v, opts, ARRAY_LEN(opts), &conn, OPERANDS_NONE, argc, argv, &n, &a);

	if (rc >= 0)
		return rc;
	if (atoll_template_gc(a, all ? 0 : max_mb, &gone, &e) < 0)
		return fail("%s", e.text);
	(void)printf("Deleted %u layers, %u archives and %u images\n", gone.layers, gone.uploads, gone.images);
	return 0;
}

static int run_export(const struct verb *v, int argc, char **argv)
{
	struct settings_opts conn = { NULL };
	const char *file = NULL;
	const struct opt opts[] = { SETTINGS_OPTS(&conn), { "output", 'o', OPT_STR, &file } };
	autoatoll struct atoll *a = NULL;
	int n, rc = verb_connect(v, opts, ARRAY_LEN(opts), &conn, ONE_TEMPLATE, argc, argv, &n, &a);

	if (rc >= 0)
		return rc;
	return file && *file ? template_export(a, argv[0], file) : usage_error(v, "-o FILE is required");
}

static int run_import(const struct verb *v, int argc, char **argv)
{
	struct settings_opts conn = { NULL };
	struct pairs args autopairs = { NULL };
	struct build_opts o = { .args = &args, .is_archive = true };
	int64_t cpus = 0, memory_mb = 0;
	const struct opt opts[] = {
		SETTINGS_OPTS(&conn),
		{ "tag", 't', OPT_STR, &o.name },
		{ "cpus", 0, OPT_NUMBER, &cpus },
		{ "memory-mb", 0, OPT_NUMBER, &memory_mb },
		{ "plain", 0, OPT_FLAG, &o.plain },
	};
	autoatoll struct atoll *a = NULL;
	int n,
	    rc = verb_connect(v, opts, ARRAY_LEN(opts), &conn,
		OPERANDS_ONE("missing operand: a file written by 'atoll template export'"), argc, argv, &n, &a);

	if (rc >= 0)
		return rc;
	if (!o.name || !*o.name)
		return usage_error(v, "-t NAME is required");
	if (cpus > 1024 || memory_mb > INT_MAX)
		return usage_error(v, "--cpus or --memory-mb is too large");
	o.source = argv[0];
	o.cpus = (unsigned)cpus;
	o.memory_mb = (unsigned)memory_mb;
	return build_run(a, &o);
}

static const struct verb template_build_verb = {
	.name = "template build",
	.summary = "Build a template from a Dockerfile, image or archive",
	.synopsis = "DIR | DOCKERFILE | IMAGE | ARCHIVE | LAYOUT -t NAME[:TAG] [OPTION]...",
	.help = "  -t, --tag NAME[:TAG]       name of the template; an existing template gets a new version\n"
		"  -f, --file FILE            the Dockerfile (default: DIR/Dockerfile)\n"
		"      --build-arg NAME=VALUE value of an ARG; may be repeated\n"
		"      --target STAGE         stage to build instead of the last\n"
		"      --cpus N               processors of its sandboxes\n"
		"      --memory-mb N          memory of its sandboxes\n"
		"      --start COMMAND        command to run in each sandbox (default: ENTRYPOINT and CMD)\n"
		"      --no-start             do not run ENTRYPOINT and CMD\n"
		"      --ready COMMAND        command that exits with 0 when the start command is ready\n"
		"                             (default: sleep 20)\n"
		"      --from-template        the operand is a template, not an image\n"
		"      --image NAME           image to use from an archive or layout that has several\n"
		"      --no-cache             repeat every step\n"
		"      --plain                print the whole build log, without progress bars\n"
		"      --registry-user NAME, --registry-password TEXT\n"
		"                             credentials for the image's registry; prefer the variable\n"
		"                             ATOLL_REGISTRY_PASSWORD\n"
		"\n"
		"Prints the ID of the template. Ctrl-C cancels the build.\n"
		"\n" SETTINGS_HELP,
	.run = run_build,
	.operand = OPERAND_FILE,
};

static const struct verb template_list = {
	.name = "template list",
	.summary = "List templates",
	.synopsis = "[--json]",
	.help = "      --json  print a JSON array with all fields\n"
		"\n" SETTINGS_HELP,
	.run = run_list,
};

static const struct verb template_inspect = {
	.name = "template inspect",
	.summary = "Show a template with its builds and tags, as JSON",
	.synopsis = "TEMPLATE",
	.help = SETTINGS_HELP,
	.run = run_inspect,
};

static const struct verb template_rm = {
	.name = "template rm",
	.summary = "Delete templates that no sandbox uses",
	.synopsis = "TEMPLATE...",
	.help = SETTINGS_HELP,
	.run = run_rm,
};

static const struct verb template_tag = {
	.name = "template tag",
	.summary = "Add or remove tags of a template version",
	.synopsis = "TEMPLATE[:TAG] TAG... [--remove]",
	.help = "      --remove  remove the tags\n"
		"\n" SETTINGS_HELP,
	.run = run_tag,
};

static const struct verb template_publish = {
	.name = "template publish",
	.summary = "Make a template available to other teams",
	.synopsis = "TEMPLATE [--private]",
	.help = "      --private  make it private again\n"
		"\n" SETTINGS_HELP,
	.run = run_publish,
};

static const struct verb template_gc = {
	.name = "template gc",
	.summary = "Delete layers, archives and images that no template needs",
	.synopsis = "[--all | --max-mb N]",
	.help = "      --all       delete everything that no template needs\n"
		"      --max-mb N  delete the least recently used until the rest takes N MiB\n"
		"                  (default: template_cache_mb)\n"
		"\n"
		"Requires an admin key.\n"
		"\n" SETTINGS_HELP,
	.run = run_gc,
};

static const struct verb template_export_verb = {
	.name = "template export",
	.summary = "Export a template to a file",
	.synopsis = "TEMPLATE -o FILE",
	.help = "  -o, --output FILE  file to write: a compressed tar archive of the root directory\n"
		"\n"
		"The environment variables, user, working directory, start command and ready command are\n"
		"included. Processors, memory and tags are not. The archive is made by tar and gzip in a\n"
		"sandbox of the template.\n"
		"\n" SETTINGS_HELP,
	.run = run_export,
};

static const struct verb template_import_verb = {
	.name = "template import",
	.summary = "Create a template from a file written by 'atoll template export'",
	.synopsis = "FILE -t NAME[:TAG] [--cpus N] [--memory-mb N]",
	.help = "  -t, --tag NAME[:TAG]  name of the template; an existing template gets a new version\n"
		"      --cpus N          processors of its sandboxes\n"
		"      --memory-mb N     memory of its sandboxes\n"
		"      --plain           print lines instead of progress bars\n"
		"\n"
		"Prints the ID of the template. Ctrl-C cancels the import.\n"
		"\n" SETTINGS_HELP,
	.run = run_import,
	.operand = OPERAND_FILE,
};

static const struct verb *const subs[] = {
	&template_build_verb,
	&template_list,
	&template_inspect,
	&template_tag,
	&template_publish,
	&template_rm,
	&template_gc,
	&template_export_verb,
	&template_import_verb,
	&verb_template_pack,
	&verb_template_fetch,
	NULL,
};

const struct verb verb_template = {
	.name = "template",
	.summary = "Build, list, tag and delete templates",
	.synopsis = "build | list | inspect | tag | publish | rm | gc | export | import ...",
	.help = "",
	.run = verb_group,
	.subs = subs,
};
