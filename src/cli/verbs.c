/* SPDX-License-Identifier: Apache-2.0 */
/* cli/verbs: the table of verbs, and the dispatch of subcommands. */
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"

const struct verb *const verbs[] = {
	&verb_serve,
	&verb_env,
	&verb_console,
	&verb_run,
	&verb_create,
	&verb_list,
	&verb_info,
	&verb_exec,
	&verb_shell,
	&verb_cp,
	&verb_logs,
	&verb_explain,
	&verb_metrics,
	&verb_top,
	&verb_usage,
	&verb_capacity,
	&verb_timeout,
	&verb_limits,
	&verb_pause,
	&verb_resume,
	&verb_fork,
	&verb_kill,
	&verb_reap,
	&verb_key,
	&verb_team,
	&verb_template,
	&verb_volume,
	&verb_snapshot,
	&verb_webhook,
	&verb_purge,
	&verb_audit,
	&verb_notebook,
	&verb_mcp,
	&verb_say,
	&verb_session,
	&verb_policy,
	&verb_backup,
	&verb_restore,
	&verb_tls,
	&verb_engine,
	&verb_log_level,
	&verb_doctor,
	&verb_selftest,
	NULL,
};

const struct verb *verb_find(const struct verb *const *v, const char *name)
{
	if (strcmp(name, "ls") == 0) /* as in many other programs */
		name = "list";
	for (; *v; v++) {
		const char *blank = strrchr((*v)->name, ' ');

		if (strcmp(blank ? blank + 1 : (*v)->name, name) == 0)
			return *v;
	}
	return NULL;
}

static void print_group(FILE *to, const struct verb *v)
{
	size_t width = 0;

	for (size_t i = 0; v->subs[i]; i++)
		if (strlen(v->subs[i]->name) > width)
			width = strlen(v->subs[i]->name);
	(void)fprintf(to, "usage: atoll %s %s\n\n", v->name, v->synopsis);
	for (size_t i = 0; v->subs[i]; i++)
		(void)fprintf(to, "  %-*s  %s\n", (int)width, v->subs[i]->name, v->subs[i]->summary);
	(void)fprintf(to, "\nFor details: atoll %s VERB --help\n", v->name);
}

int verb_group(const struct verb *v, int argc, char **argv)
{
	if (argc > 0 && (strcmp(argv[0], "--help") == 0 || strcmp(argv[0], "-h") == 0)) {
		print_group(stdout, v);
		return 0;
	}
	if (argc == 0) {
		print_group(stderr, v);
		return EXIT_USAGE;
	}
	const struct verb *sub = verb_find(v->subs, argv[0]);
	if (!sub)
		return usage_error(v, "unknown verb '%s'", argv[0]);
	return sub->run(sub, argc - 1, argv + 1);
}
