/* SPDX-License-Identifier: Apache-2.0 */
/* atoll: the command line for sandboxes, and the program that starts the server. Each verb has its own file. */
#include <errno.h>
#include <locale.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"

static void print_help(FILE *to)
{
	(void)fprintf(to, "usage: atoll VERB [OPTIONS] ...\n\n");
	for (size_t i = 0; verbs[i]; i++)
		(void)fprintf(to, "  %-10s %s\n", verbs[i]->name, verbs[i]->summary);
	(void)fprintf(to, "\nFor details: atoll VERB --help, or atoll(1). For the version: atoll --version\n");
}

static const struct verb *find_verb(const char *name)
{
	return strcmp(name, verb_complete.name) == 0 ? &verb_complete : verb_find(verbs, name);
}

int main(int argc, char **argv)
{
	(void)setlocale(LC_CTYPE, "");
	if (argc < 2) {
		print_help(stderr);
		return EXIT_USAGE;
	}
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "help") == 0) {
		const struct verb *about = argc > 2 ? find_verb(argv[2]) : NULL;

		if (about)
			return about->run(about, 1, (char *[]) { "--help", NULL });
		print_help(stdout);
		return 0;
	}
	if (strcmp(argv[1], "--version") == 0) {
		(void)printf("atoll %s\n", ATOLL_VERSION);
		return 0;
	}
	const struct verb *v = find_verb(argv[1]);
	if (!v) {
		if (argv[1][0] == '-')
			say("options follow the verb: atoll VERB %s (see 'atoll --help')", argv[1]);
		else
			say("unknown verb '%s' (see 'atoll --help')", argv[1]);
		return EXIT_USAGE;
	}
	int rc = v->run(v, argc - 2, argv + 2);
	/* A write error, such as a full disk or a closed pipe, must not look like success. */
	if (fflush(stdout) != 0 && rc == 0)
		rc = fail("write the output: %s", strerrordesc_np(errno));
	return rc;
}
