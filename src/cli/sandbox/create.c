/* SPDX-License-Identifier: Apache-2.0 */
/* atoll create: creates a sandbox. */
#include <stdio.h>
#include <stdlib.h>

#include "base/fd.h"
#include "cli/cli.h"
#include "cli/settings.h"
#include "cli/template/template.h"

static int create(const struct settings_opts *conn, const struct atoll_spec *spec, bool json)
{
	struct atoll *a = NULL;
	struct atoll_sandbox *sb = NULL;
	struct atoll_error e;
	int rc = settings_connect(conn, &a);

	if (rc != 0)
		return rc;
	if (atoll_sandbox_create(a, spec, &sb, &e) < 0)
		rc = fail("create a sandbox: %s", e.text);
	else
		(void)printf("%s\n", json ? atoll_sandbox_json(sb) : atoll_sandbox_id(sb));
	atoll_sandbox_free(sb);
	atoll_free(a);
	return rc;
}

static int run(const struct verb *v, int argc, char **argv)
{
	struct settings_opts conn = { NULL };
	autopairs struct pairs meta = { NULL, 0 };
	autopairs struct pairs envs = { NULL, 0 };
	autopairs struct pairs volumes = { NULL, 0 };
	const char *template = template_default();
	unsigned timeout_s = 0;
	bool json = false;
	const struct opt opts[] = {
		SETTINGS_OPTS(&conn),
		{ "template", 't', OPT_STR, &template },
		{ "timeout", 0, OPT_SECONDS, &timeout_s },
		{ "meta", 'm', OPT_PAIR, &meta },
		{ "env", 'e', OPT_PAIR, &envs },
		{ "volume", 0, OPT_PAIR, &volumes },
		{ "json", 0, OPT_FLAG, &json },
	};
	int n, rc = verb_parse(v, opts, ARRAY_LEN(opts), OPTS_MIXED, argc, argv, &n);

	if (rc >= 0)
		return rc;
	if (n > 0)
		return usage_error(v, "unexpected argument '%s'", argv[0]);
	const struct atoll_spec spec = {
		.template_id = template,
		.timeout_s = timeout_s,
		.metadata = meta.v,
		.n_metadata = meta.n,
		.envs = envs.v,
		.n_envs = envs.n,
		.volumes = volumes.v,
		.n_volumes = volumes.n,
	};
	return create(&conn, &spec, json);
}

const struct verb verb_create = {
	.name = "create",
	.summary = "Create a sandbox and print its ID",
	.synopsis = "[--template NAME] [--timeout SECONDS] [--meta NAME=VALUE]... [--env NAME=VALUE]... [--volume "
		    "NAME=PATH]... [--json]",
	.help = "  -t, --template NAME    template (default: $E2B_TEMPLATE_ID, else " ATOLL_TEMPLATE_DEFAULT ")\n"
		"      --timeout SECONDS  lifetime of the sandbox (default: the server's, 300)\n"
		"  -m, --meta NAME=VALUE  metadata, which lists show and can be filtered by\n"
		"  -e, --env NAME=VALUE   environment variable for all processes in the sandbox\n"
		"      --volume NAME=PATH volume to mount, and its mount point\n"
		"      --json             print all fields as JSON, including the access token\n"
		"\n" SETTINGS_HELP,
	.run = run,
};
