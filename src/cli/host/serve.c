/* SPDX-License-Identifier: Apache-2.0 */
/* atoll serve: checks the host, builds missing templates and executes atolld. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/inherited.h"
#include "base/str.h"
#include "cli/child.h"
#include "cli/cli.h"
#include "cli/host/check.h"
#include "cli/host/conffile.h"
#include "cli/host/listen.h"
#include "cli/host/tls.h"
#include "cli/paths.h"
#include "cli/settings.h"
#include "cli/template/template.h"

#define ARGS_MAX 128

/* The templates of every server, in the order in which they are built. The server cannot start without the first. */
static const char *const templates[] = { "base", "code-interpreter-v1" };
#define TOOLS "tools" /* built with them: programs that the engine runs */
#define TEMPLATE_WORD_SIZE (64 + TEMPLATE_KEY_LEN)

struct args { /* arguments of atolld, NULL-terminated */
	const char *v[ARGS_MAX + 1];
	size_t n;
};

struct serve_opts {
	const char *listen, *state, *run, *config, *cache;
	struct args more; /* options for atolld */
};

/* Runs the checks without which the server would fail, and prints what is wrong with the remedy. */
static int check_host(const struct check_host *h)
{
	int bad = 0;

	for (size_t i = 0; i < n_checks; i++) {
		struct check_result r = CHECK_RESULT_INIT;

		if (!checks[i].at_start)
			continue;
		checks[i].run(h, &r);
		if (r.level != CHECK_FAIL)
			continue;
		say("%s: %s%s%s", checks[i].name, r.text, r.remedy[0] ? "; " : "", r.remedy);
		bad = EXIT_FAILURE;
	}
	if (bad)
		say("this host cannot run sandboxes ('atoll doctor' shows all checks)");
	return bad;
}

static int prepare_template(const struct paths *p, const char *cache, const struct template_asked *t, struct err *e)
{
	*e = t->e;
	if (e->no)
		return -e->no;
	if (template_cached(cache, t->key))
		return 0;
	if (template_build(p->build_script, cache, t->name, e) < 0)
		return -e->no;
	if (!template_cached(cache, t->key))
		return err_set(e, ENOENT, "template '%s' was built, but '%s/templates/%s' does not exist", t->name,
		    cache, t->key);
	return 0;
}

static void add(struct args *a, const char *name, const char *value)
{
	const char *const words[] = { name, value };

	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		if (words[i] && a->n < ARGS_MAX)
			a->v[a->n++] = words[i];
	}
}

/* True if the option is given as "--NAME", "--NAME=VALUE" or "--NAME VALUE". *ret_value is NULL if it has no value. */
static bool option_given(const struct args *a, const char *option, const char **ret_value)
{
	size_t n = strlen(option);

	for (size_t i = 0; i < a->n; i++) {
		if (strncmp(a->v[i], option, n) != 0 || (a->v[i][n] != '\0' && a->v[i][n] != '='))
			continue;
		*ret_value = a->v[i][n] ? a->v[i] + n + 1 : i + 1 < a->n && a->v[i + 1][0] != '-' ? a->v[i + 1] : NULL;
		return true;
	}
	return false;
}

/* True if the address in `listen` also serves TLS with a local certificate. */
static bool wants_local_tls(const struct serve_opts *o)
{
	autofree char *elsewhere = o->config ? conffile_get(o->config, "tls_listen") : NULL;
	autofree char *local = o->config ? conffile_get(o->config, "local_tls") : NULL;
	const char *value;

	if ((elsewhere && elsewhere[0]) || option_given(&o->more, "--tls-listen", &value))
		return false;
	if (option_given(&o->more, "--local-tls", &value))
		return !value || strcmp(value, "false") != 0;
	return !local || strcmp(local, "false") != 0;
}

/* Runs atolld with --version, which parses its options and configuration, so that errors are reported before a
 * template is built. */
static int try_atolld(struct args a, struct err *e)
{
	int status;

	add(&a, "--version", NULL);
	if (cli_child_run(a.v, true, &status, e) < 0)
		return -e->no;
	return status == 0 ? 0 : err_set(e, EINVAL, "the server cannot start with these settings");
}

/* Adds --template NAME=KEY for each template that is ready; `room` holds the strings. */
static int prepare_templates(const struct paths *p, const char *cache, const struct template_asked *asked,
    struct args *a, char room[ARRAY_LEN(templates)][TEMPLATE_WORD_SIZE], struct err *e)
{
	for (size_t i = 0; i < ARRAY_LEN(templates); i++) {
		if (prepare_template(p, cache, &asked[i], e) < 0) {
			if (i == 0 || e->no == ECANCELED)
				return -e->no;
			say("%s; using '%s' instead", e->text, templates[0]);
			*e = ERR_INIT;
			continue;
		}
		(void)snprintf(room[i], TEMPLATE_WORD_SIZE, "%s=%s", templates[i], asked[i].key);
		add(a, "--template", room[i]);
	}
	return 0;
}

/* Without the tools, the memory of paused sandboxes is not written to disk; everything else works. */
static int prepare_tools(const struct paths *p, const char *cache, const struct template_asked *tools, struct args *a,
    struct err *e)
{
	if (prepare_template(p, cache, tools, e) == 0) {
		add(a, "--tools", tools->key);
		return 0;
	}
	if (e->no == ECANCELED)
		return -e->no;
	say("%s; continuing without CRIU: the memory of paused sandboxes is not written to disk", e->text);
	*e = ERR_INIT;
	return 0;
}

static int serve(const struct serve_opts *o)
{
	autopaths struct paths p = { 0 };
	autofree char *cache = path_absolute(o->cache);
	autofree char *state = path_absolute(o->state);
	autofree char *run_dir = state ? o->run ? path_absolute(o->run) : path_run_dir(state) : NULL;
	struct template_asked asked[] = { { .name = templates[0] }, { .name = templates[1] }, { .name = TOOLS } };
	char words[ARRAY_LEN(templates)][TEMPLATE_WORD_SIZE];
	struct err e = ERR_INIT;

	if (!cache || !run_dir)
		return fail("out of memory");
	if (check_host(&(struct check_host) { .state = state, .cache = cache, .listen = o->listen }) != 0)
		return EXIT_FAILURE;
	if (paths_find(&p, &e) < 0 || paths_check(&p, &e) < 0)
		return fail("%s", e.text);
	struct args a = { .v = { p.program[PROGRAM_ATOLLD] }, .n = 1 };
	add(&a, "--state", state);
	add(&a, "--run", run_dir);
	add(&a, "--cache", cache);
	add(&a, "--front", p.program[PROGRAM_FRONT]);
	add(&a, "--init", p.program[PROGRAM_INIT]);
	add(&a, "--egress", p.program[PROGRAM_EGRESS]);
	add(&a, "--agent", p.program[PROGRAM_AGENT]);
	if (o->listen)
		add(&a, "--listen", o->listen);
	if (o->config)
		add(&a, "--config", o->config);
	for (size_t i = 0; i < o->more.n; i++)
		add(&a, o->more.v[i], NULL);
	if (try_atolld(a, &e) < 0)
		return fail("%s", e.text);
	/* Builds run in "/", because the working directory may be missing or unreadable. Paths in atolld's options
	 * may be relative, so it is restored afterwards. */
	autoclose int here = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (here >= 0 && chdir("/") < 0)
		return fail("change to '/': %s", strerrordesc_np(errno));
	template_keys(p.build_script, asked, ARRAY_LEN(asked));
	if (wants_local_tls(o) && tls_make_local(state, run_dir, &e) < 0) {
		say("host names over TLS are disabled: %s", e.text);
		e = ERR_INIT;
	}
	if (prepare_templates(&p, cache, asked, &a, words, &e) < 0 ||
	    prepare_tools(&p, cache, &asked[ARRAY_LEN(templates)], &a, &e) < 0)
		return fail("%s", e.text);
	if (here >= 0 && fchdir(here) < 0)
		return fail("change back to the working directory: %s", strerrordesc_np(errno));
	(void)execv(p.program[PROGRAM_ATOLLD], (char *const *)a.v);
	return fail("run '%s': %s", p.program[PROGRAM_ATOLLD], strerrordesc_np(errno));
}

static bool is_own(const struct opt *own, size_t n_own, struct str name)
{
	str_skip(&name, strlen("--"));
	for (size_t i = 0; i < n_own; i++) {
		if (str_is(name, own[i].name))
			return true;
	}
	return name.n == 0 || str_is(name, "help");
}

/* Moves options for atolld, those not in `own`, from argv to more, each with the next word if that can be its value.
 * Returns the new argc. */
static int split(const struct opt *own, size_t n_own, int argc, char **argv, struct args *more)
{
	int kept = 0;

	for (int i = 0; i < argc; i++) {
		struct str rest = str_of(argv[i]);
		struct str name = str_cut(&rest, '=');

		if (!str_starts(name, "--") || is_own(own, n_own, name)) {
			argv[kept++] = argv[i];
			continue;
		}
		bool has_value = !rest.p && i + 1 < argc && argv[i + 1][0] != '-';
		add(more, argv[i], has_value ? argv[i + 1] : NULL);
		i += has_value;
	}
	return kept;
}

static int run(const struct verb *v, int argc, char **argv)
{
	struct serve_opts o = { .state = STATE_DIR_DEFAULT };
	const struct opt opts[] = {
		{ "listen", 0, OPT_STR, &o.listen },
		{ "state", 0, OPT_STR, &o.state },
		{ "run", 0, OPT_STR, &o.run },
		{ "config", 0, OPT_STR, &o.config },
		{ "cache", 0, OPT_STR, &o.cache },
	};
	int n, rc;
	struct err e = ERR_INIT;
	struct listen_addr addr;
	autofree char *file_cache = NULL;

	if (argc > ARGS_MAX / 2)
		return usage_error(v, "too many arguments");
	argc = split(opts, ARRAY_LEN(opts), argc, argv, &o.more);
	rc = verb_parse(v, opts, ARRAY_LEN(opts), OPTS_MIXED, argc, argv, &n);
	if (rc >= 0)
		return rc;
	if (n > 0)
		return usage_error(v, "unexpected argument '%s'", argv[0]);
	if (o.listen && listen_parse(o.listen, &addr, &e) < 0)
		return usage_error(v, "%s", e.text);
	if (*o.state == '\0' || (o.run && *o.run == '\0') || (o.cache && *o.cache == '\0'))
		return usage_error(v, "a directory name is empty");
	if (geteuid() != 0)
		return fail(
		    "'atoll serve' must run as root to create namespaces and mounts for the sandboxes: use sudo");
	inherited_reset();
	inherited_pid_one();
	if (!o.config && access(CONFIG_DEFAULT, R_OK) == 0)
		o.config = CONFIG_DEFAULT;
	if (!o.cache && o.config && !getenv("ATOLL_CACHE"))
		o.cache = file_cache = conffile_get(o.config, "cache");
	if (!o.cache)
		o.cache = template_cache();
	return serve(&o);
}

const struct verb verb_serve = {
	.name = "serve",
	.summary = "Run the server in the foreground",
	.synopsis =
	    "[--listen ADDRESS:PORT] [--state DIR] [--run DIR] [--config FILE] [--cache DIR] [--SETTING VALUE]...",
	.help = "      --listen ADDRESS:PORT  address to listen on (default: " LISTEN_DEFAULT ")\n"
		"      --state DIR            persistent state (default: " STATE_DIR_DEFAULT ")\n"
		"      --run DIR              runtime state, lost at reboot (default: /run/atoll/main, or a\n"
		"                             directory derived from --state)\n"
		"      --config FILE          configuration, see atoll.conf(5)\n"
		"                             (default: " CONFIG_DEFAULT ", if it exists)\n"
		"      --cache DIR            built templates (default: $ATOLL_CACHE, else /var/cache/atoll)\n"
		"      --SETTING VALUE        any setting of atoll.conf(5), with dashes: --max-sandboxes 50\n"
		"\n"
		"The first start builds the sandbox templates, which takes a few minutes. The server prints\n"
		"'atoll: ready on URL' when clients can connect. Several servers can run side by side if\n"
		"each has its own directories.\n"
		"\n"
		"ATOLL_TEMPLATES names an alternative directory of template recipes.\n",
	.run = run,
};
