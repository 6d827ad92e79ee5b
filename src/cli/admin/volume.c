/* SPDX-License-Identifier: Apache-2.0 */
/* atoll volume: file storage that outlives sandboxes and can be shared by several. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/fd.h"
#include "cli/cli.h"
#include "cli/format.h"
#include "cli/settings.h"
#include "cli/table.h"

#define ONE_VOLUME OPERANDS_ONE("missing operand: one volume, by name or ID")

static int print_volumes(const struct atoll_volumes *l)
{
	static const struct column columns[] = {
		{ "NAME", false },
		{ "ID", false },
		{ "SIZE MB", true },
		{ "SANDBOXES", true },
		{ "AGE", true },
	};
	autotable struct table t = TABLE_INIT(columns);
	uint64_t now = now_ms();

	for (size_t i = 0; i < l->n; i++) {
		const struct atoll_volume *x = &l->v[i];
		char age[FORMAT_SIZE];

		span_format(x->created_at, now, false, age);
		table_add(&t, x->name);
		table_add(&t, x->id);
		table_addf(&t, "%llu", (unsigned long long)x->size_mb);
		table_addf(&t, "%lld", (long long)x->sandboxes);
		table_add(&t, age);
	}
	return table_print(&t);
}

static int run_list(const struct verb *v, int argc, char **argv)
{
	bool json = false;
	autoatoll struct atoll *a = NULL;
	struct atoll_volumes *l;
	struct atoll_error e;
	int rc = verb_plain(v, OPERANDS_NONE, argc, argv, &json, NULL, &a);

	if (rc >= 0)
		return rc;
	if (atoll_volumes_list(a, &l, &e) < 0)
		return fail("%s", e.text);
	rc = json ? (puts(l->json), 0) : print_volumes(l);
	atoll_volumes_free(l);
	return rc;
}

static int changed(int rc, struct atoll_volumes *l, const struct atoll_error *e, bool json)
{
	if (rc < 0)
		return fail("%s", e->text);
	(void)puts(json ? l->json : l->v[0].id);
	atoll_volumes_free(l);
	return 0;
}

/* Runs `volume create` and `volume resize`. */
static int run_size(const struct verb *v, int argc, char **argv)
{
	struct settings_opts conn = { NULL };
	int64_t size_mb = 0;
	bool json = false, creates = v->operand == OPERAND_NONE;
	const struct opt opts[] = { SETTINGS_OPTS(&conn), { "size", 0, OPT_NUMBER, &size_mb },
		{ "json", 0, OPT_FLAG, &json } };
	autoatoll struct atoll *a = NULL;
	struct atoll_volumes *l = NULL;
	struct atoll_error e;
	int n,
	    rc = verb_operands(v, opts, ARRAY_LEN(opts),
		creates ? OPERANDS_ONE("missing operand: the volume's name") : ONE_VOLUME, argc, argv, &n);

	if (rc >= 0)
		return rc;
	if (size_mb > UINT_MAX || (!creates && size_mb == 0))
		return usage_error(v, "--size is required: megabytes, above 0");
	if (settings_connect(&conn, &a) != 0)
		return EXIT_FAILURE;
	rc = creates ? atoll_volume_create(a, argv[0], (unsigned)size_mb, &l, &e)
		     : atoll_volume_resize(a, argv[0], (unsigned)size_mb, &l, &e);
	return changed(rc, l, &e, json);
}

static int run_info(const struct verb *v, int argc, char **argv)
{
	bool json = false;
	autoatoll struct atoll *a = NULL;
	struct atoll_volumes *l;
	struct atoll_error e;
	int n, rc = verb_plain(v, ONE_VOLUME, argc, argv, &json, &n, &a);

	if (rc >= 0)
		return rc;
	if (atoll_volume_get(a, argv[0], &l, &e) < 0)
		return fail("%s", e.text);
	const struct atoll_volume *x = &l->v[0];

	if (json)
		(void)puts(l->json);
	else
		(void)printf("name       %s\nid         %s\ncreated    %s\nsize       %llu MB\nused       %lld "
			     "MB\nsandboxes  %lld\n",
		    x->name, x->id, x->created_at, (unsigned long long)x->size_mb,
		    (long long)(x->used_bytes < 0 ? 0 : x->used_bytes >> 20), (long long)x->sandboxes);
	atoll_volumes_free(l);
	return 0;
}

static int run_rm(const struct verb *v, int argc, char **argv)
{
	autoatoll struct atoll *a = NULL;
	struct atoll_error e;
	int rc = verb_plain(v, ONE_VOLUME, argc, argv, NULL, NULL, &a);

	if (rc >= 0)
		return rc;
	if (atoll_volume_remove(a, argv[0], &e) < 0)
		return fail("%s", e.text);
	(void)puts(argv[0]);
	return 0;
}

#define JSON_HELP "      --json     print all fields as JSON\n\n"

static const struct verb volume_create = {
	.name = "volume create",
	.summary = "Create a volume and print its ID",
	.synopsis = "NAME [--size MB] [--json]",
	.help = "      --size MB  capacity (default: the server's)\n" JSON_HELP
		"Mount it with 'atoll create --volume NAME=PATH'.\n"
		"\n" SETTINGS_HELP,
	.run = run_size,
};

static const struct verb volume_list = {
	.name = "volume list",
	.summary = "List volumes",
	.synopsis = "[--json]",
	.help = "      --json  print a JSON array with all fields\n"
		"\n" SETTINGS_HELP,
	.run = run_list,
};

static const struct verb volume_info = {
	.name = "volume info",
	.summary = "Show a volume",
	.synopsis = "VOLUME [--json]",
	.help = "      --json  print all fields as JSON, including the token that gives access to its files\n"
		"\n" SETTINGS_HELP,
	.run = run_info,
	.operand = OPERAND_VOLUME,
};

static const struct verb volume_resize = {
	.name = "volume resize",
	.summary = "Change the capacity of a volume",
	.synopsis = "VOLUME --size MB [--json]",
	.help = "      --size MB  new capacity; the content is kept\n" JSON_HELP SETTINGS_HELP,
	.run = run_size,
	.operand = OPERAND_VOLUME,
};

static const struct verb volume_rm = {
	.name = "volume rm",
	.summary = "Delete a volume that no sandbox has mounted, with its content",
	.synopsis = "VOLUME",
	.help = SETTINGS_HELP,
	.run = run_rm,
	.operand = OPERAND_VOLUME,
};

static const struct verb *const subs[] = { &volume_create, &volume_list, &volume_info, &volume_resize, &volume_rm,
	NULL };

const struct verb verb_volume = {
	.name = "volume",
	.summary = "Create, list, resize and delete volumes",
	.synopsis = "create | list | info | resize | rm ...",
	.help = "",
	.run = verb_group,
	.subs = subs,
};
