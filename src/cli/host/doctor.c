/* SPDX-License-Identifier: Apache-2.0 */
/* atoll doctor: checks this host and prints a remedy for each problem. */
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "cli/cli.h"
#include "cli/host/check.h"
#include "cli/host/conffile.h"
#include "cli/host/listen.h"
#include "cli/settings.h"
#include "cli/template/template.h"

static const char *const level_name[] = { [CHECK_OK] = "ok", [CHECK_WARN] = "warn", [CHECK_FAIL] = "fail" };
static const char
    *const level_colour[] = { [CHECK_OK] = "\033[32m", [CHECK_WARN] = "\033[33m", [CHECK_FAIL] = "\033[31m" };

static void print_text(const struct check *c, const struct check_result *r, bool colour)
{
	(void)printf("%s%-4s%s  %-16s %s\n", colour ? level_colour[r->level] : "", level_name[r->level],
	    colour ? "\033[0m" : "", c->name, r->text);
	if (r->remedy[0])
		(void)printf("%22s -> %s\n", "", r->remedy);
}

static void add_json(json_t *all, const struct check *c, const struct check_result *r)
{
	json_t *o = json_pack("{s:s,s:s,s:s}", "name", c->name, "status", level_name[r->level], "detail", r->text);

	if (o && r->remedy[0])
		json_object_set_new(o, "remedy", json_string(r->remedy));
	json_array_append_new(all, o);
}

static int examine(const struct check_host *h, bool json)
{
	unsigned count[3] = { 0 };
	json_t *all = json_array();
	bool colour = isatty(STDOUT_FILENO) && !getenv("NO_COLOR");

	for (size_t i = 0; i < n_checks; i++) {
		struct check_result r = CHECK_RESULT_INIT;

		checks[i].run(h, &r);
		count[r.level]++;
		if (json)
			add_json(all, &checks[i], &r);
		else
			print_text(&checks[i], &r, colour);
	}
	if (json) {
		json_t *o = json_pack("{s:b,s:O}", "ok", count[CHECK_FAIL] == 0, "checks", all);

		if (o && json_dumpf(o, stdout, JSON_INDENT(2)) == 0)
			(void)putchar('\n');
		json_decref(o);
	} else {
		(void)printf("%u ok, %u warnings, %u failed\n", count[CHECK_OK], count[CHECK_WARN], count[CHECK_FAIL]);
	}
	json_decref(all);
	return count[CHECK_FAIL] ? EXIT_FAILURE : 0;
}

static int run(const struct verb *v, int argc, char **argv)
{
	struct check_host h = { .state = STATE_DIR_DEFAULT, .cache = template_cache(), .listen = LISTEN_DEFAULT };
	bool json = false;
	const struct opt opts[] = {
		{ "state", 0, OPT_STR, &h.state },
		{ "listen", 0, OPT_STR, &h.listen },
		{ "config", 0, OPT_STR, &h.config },
		{ "json", 0, OPT_FLAG, &json },
	};
	struct listen_addr addr;
	struct err e = ERR_INIT;
	int n, rc = verb_parse(v, opts, ARRAY_LEN(opts), OPTS_MIXED, argc, argv, &n);

	if (rc >= 0)
		return rc;
	if (n > 0)
		return usage_error(v, "unexpected argument '%s'", argv[0]);
	if (listen_parse(h.listen, &addr, &e) < 0)
		return usage_error(v, "%s", e.text);
	if (h.config && access(h.config, R_OK) < 0)
		return fail("'%s': %s", h.config, strerrordesc_np(errno));
	if (!h.config && access(CONFIG_DEFAULT, R_OK) == 0)
		h.config = CONFIG_DEFAULT;
	return examine(&h, json);
}

const struct verb verb_doctor = {
	.name = "doctor",
	.summary = "Check this host and suggest fixes",
	.synopsis = "[--json] [--state DIR] [--listen ADDRESS:PORT] [--config FILE]",
	.help = "      --json                 print the results as JSON\n"
		"      --state DIR            state directory to check (default: " STATE_DIR_DEFAULT ")\n"
		"      --listen ADDRESS:PORT  address to check (default: " LISTEN_DEFAULT ")\n"
		"      --config FILE          configuration to check, see atoll.conf(5)\n"
		"                             (default: " CONFIG_DEFAULT ", if it exists)\n"
		"\n"
		"Changes nothing. Some checks require root. The exit status is 1 if something that the\n"
		"server requires is missing, or if a known kernel vulnerability is reachable from a\n"
		"sandbox.\n",
	.run = run,
};
