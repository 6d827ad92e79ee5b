/* SPDX-License-Identifier: Apache-2.0 */
/* atoll policy: shows how the agent policy decides on a command, code or a path. Needs no server. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "cli/cli.h"
#include "cli/settings.h"

static void policy_cleanup(struct atoll_policy **p)
{
	atoll_policy_free(*p);
}

static int policy_open(const char *file, struct atoll_policy **ret)
{
	struct atoll_error e;

	if (atoll_policy_new(ret, &e) < 0 || (file && atoll_policy_load(*ret, file, &e) < 0))
		return fail("%s", e.text);
	return 0;
}

static int print_verdict(const struct atoll_verdict *v, bool json)
{
	if (json) {
		autofree char *text = atoll_verdict_json(v);

		if (!text)
			return fail("out of memory");
		(void)puts(text);
	} else if (v->severity == ATOLL_SEVERITY_NONE) {
		(void)puts("allowed");
	} else {
		(void)printf("%s: %s (rule %s, severity %s)\n", v->allowed ? "allowed, with a warning" : ATOLL_REFUSED,
		    v->reason, v->rule, atoll_severity_name(v->severity));
	}
	return v->allowed ? 0 : EXIT_FAILURE;
}

static int run_test(const struct verb *v, int argc, char **argv)
{
	const char *file = NULL, *key = NULL, *language = NULL, *operation = NULL;
	bool json = false;
	const struct opt opts[] = {
		{ "policy", 0, OPT_STR, &file },
		{ "key", 0, OPT_STR, &key },
		{ "code", 0, OPT_STR, &language },
		{ "file", 0, OPT_STR, &operation },
		{ "json", 0, OPT_FLAG, &json },
	};
	__attribute__((cleanup(policy_cleanup))) struct atoll_policy *p = NULL;
	struct atoll_verdict verdict;
	int n,
	    rc = verb_operands(v, opts, ARRAY_LEN(opts),
		OPERANDS_ONE("missing operand: quote the command as one argument"), argc, argv, &n);

	if (rc >= 0)
		return rc;
	if (language && operation)
		return usage_error(v, "--code and --file are mutually exclusive");
	rc = policy_open(file, &p);
	if (rc != 0)
		return rc;
	if (language)
		atoll_policy_code(p, key, language, argv[0], &verdict);
	else if (operation)
		atoll_policy_file(p, key, operation, argv[0], &verdict);
	else
		atoll_policy_command(p, key, argv[0], &verdict);
	return print_verdict(&verdict, json);
}

static int run_show(const struct verb *v, int argc, char **argv)
{
	const char *file = NULL;
	const struct opt opts[] = { { "policy", 0, OPT_STR, &file } };
	__attribute__((cleanup(policy_cleanup))) struct atoll_policy *p = NULL;
	int n, rc = verb_operands(v, opts, ARRAY_LEN(opts), OPERANDS_NONE, argc, argv, &n);

	if (rc >= 0)
		return rc;
	rc = policy_open(file, &p);
	if (rc != 0)
		return rc;
	autofree char *text = atoll_policy_json(p);

	if (!text)
		return fail("out of memory");
	(void)puts(text);
	return 0;
}

static const struct verb policy_test = {
	.name = "policy test",
	.summary = "Test a command, code or path against the policy",
	.synopsis = "[--code LANGUAGE | --file OPERATION] [--policy FILE] [--key KEY] [--json] TEXT",
	.help = "      --code LANGUAGE   TEXT is code in that language (python, javascript, bash, ...)\n"
		"      --file OPERATION  TEXT is a path: read, write, list, remove, upload, download\n"
		"      --policy FILE     policy settings, see atoll-policy(5)\n"
		"      --key KEY         use the mode of that API key, by name or ID\n"
		"      --json            print JSON\n"
		"\n"
		"Nothing is executed. The exit status is 1 if the operation would be refused. The policy\n"
		"is advisory: isolation does not depend on it.\n",
	.run = run_test,
};

static const struct verb policy_show = {
	.name = "policy show",
	.summary = "Show modes and rules as JSON",
	.synopsis = "[--policy FILE]",
	.help = "      --policy FILE  policy settings, see atoll-policy(5)\n",
	.run = run_show,
};

static const struct verb *const subs[] = { &policy_test, &policy_show, NULL };

const struct verb verb_policy = {
	.name = "policy",
	.summary = "Test and show the policy for what agents run",
	.synopsis = "test | show ...",
	.help = "",
	.run = verb_group,
	.subs = subs,
};
