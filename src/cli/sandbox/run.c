/* SPDX-License-Identifier: Apache-2.0 */
/* atoll run: runs a program file in a new sandbox, which is killed afterwards. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/str.h"
#include "cli/cli.h"
#include "cli/sandbox/lang.h"
#include "cli/sandbox/login.h"
#include "cli/sandbox/session.h"
#include "cli/settings.h"
#include "cli/signals.h"
#include "cli/template/template.h"

#define HOME "/home/user"

struct program {
	int fd;                   /* the content after head */
	char head[LANG_TEXT_MAX]; /* its first bytes, already read */
	size_t n_head, given;
	struct lang lang;
	char *remote; /* its path in the sandbox */
};

static void program_done(struct program *p)
{
	fd_close(p->fd);
	free(p->remote);
}

static ssize_t read_some(int fd, void *p, size_t n)
{
	ssize_t r;

	do {
		r = read(fd, p, n);
	} while (r < 0 && errno == EINTR);
	return r < 0 ? -errno : r;
}

static ssize_t give_content(void *user, void *to, size_t n)
{
	struct program *p = user;
	size_t left = p->n_head - p->given;

	if (left == 0)
		return read_some(p->fd, to, n);
	if (left > n)
		left = n;
	memcpy(to, p->head + p->given, left);
	p->given += left;
	return (ssize_t)left;
}

static int read_head(struct program *p, const char *name)
{
	while (p->n_head < sizeof(p->head)) {
		ssize_t r = read_some(p->fd, p->head + p->n_head, sizeof(p->head) - p->n_head);

		if (r < 0)
			return fail("read '%s': %s", name, strerrordesc_np((int)-r));
		if (r == 0)
			break;
		p->n_head += (size_t)r;
	}
	return 0;
}

static int open_content(struct program *p, const char *name)
{
	bool is_stdin = strcmp(name, "-") == 0;
	struct stat st;

	p->fd = is_stdin ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3) : open(name, O_RDONLY | O_CLOEXEC);
	if (p->fd < 0 || fstat(p->fd, &st) < 0)
		return fail("open '%s': %s", name, strerrordesc_np(errno));
	if (S_ISDIR(st.st_mode))
		return fail("'%s' is a directory, not a program", name);
	return read_head(p, name);
}

/* Chooses the interpreter by the --lang option, else the extension, else the first line, else (standard input)
 * Python. */
static int find_language(struct program *p, const char *name, const char *lang)
{
	struct str head = { p->head, p->n_head };
	bool is_stdin = strcmp(name, "-") == 0;

	if (lang)
		return lang_by_name(lang, &p->lang)
		    ? 0
		    : fail("unsupported language '%s' (supported: " LANG_NAMES ")", lang);
	if (!is_stdin && lang_by_extension(name, &p->lang))
		return 0;
	if (lang_by_first_line(head, &p->lang))
		return 0;
	if (is_stdin)
		return lang_by_name("python", &p->lang) ? 0 : EXIT_FAILURE;
	return fail("cannot determine the language of '%s': it has none of the extensions " LANG_EXTENSIONS
		    " and no #! line; use --lang",
	    name);
}

static int program_open(struct program *p, const char *name, const char *lang)
{
	const char *slash = strrchr(name, '/');
	int rc = open_content(p, name);

	if (rc == 0)
		rc = find_language(p, name, lang);
	if (rc != 0)
		return rc;
	if (strcmp(name, "-") == 0)
		p->remote = str_fmt(HOME "/stdin%s", p->lang.extension);
	else
		p->remote = str_fmt(HOME "/%s", slash ? slash + 1 : name);
	return p->remote ? 0 : fail("out of memory");
}

/* Returns "python3 /home/user/x.py ARGS". The caller frees the array; the words are borrowed. */
static const char **program_words(const struct program *p, char **args, size_t n_args)
{
	const char *words[LANG_WORDS_MAX + 1];
	size_t n = 0;

	for (; n < p->lang.n; n++)
		words[n] = p->lang.words[n];
	words[n++] = p->remote;
	const char **all = calloc(n + n_args, sizeof(*all));
	if (!all)
		return NULL;
	memcpy(all, words, n * sizeof(*all));
	memcpy(all + n, args, n_args * sizeof(*all));
	const char **command = login_command(all, n + n_args);
	free(all);
	return command;
}

struct job {
	struct settings_opts conn;
	struct atoll_spec spec;
	struct program *program;
	const char **argv;
	bool with_stdin, keep;
};

static int run_in(struct atoll_sandbox *sb, const struct job *j)
{
	struct atoll_error e;

	if (signals_first() != 0)
		return EXIT_FAILURE;
	if (atoll_file_write(sb, j->program->remote, NULL, give_content, j->program, &e) < 0)
		return e.no == ECANCELED ? EXIT_FAILURE : fail("copy the program into the sandbox: %s", e.text);
	return session_run(&(struct session) {
	    .sb = sb,
	    .cmd = { .argv = j->argv, .with_stdin = j->with_stdin },
	    .on_interrupt = STOP_NOW,
	});
}

static void end_sandbox(struct atoll *a, const struct atoll_sandbox *sb)
{
	const char *id = atoll_sandbox_id(sb);
	struct atoll_error e;

	atoll_set_stop(a, NULL, NULL);
	if (atoll_kill(a, id, &e) < 0 && e.no != ENOENT)
		say("could not kill sandbox '%s', which ends at its timeout: %s", id, e.text);
}

static int run_job(const struct job *j)
{
	struct atoll *a = NULL;
	struct atoll_sandbox *sb = NULL;
	struct atoll_error e;
	int rc = settings_connect(&j->conn, &a);

	if (rc != 0)
		return rc;
	rc = signals_hold();
	atoll_set_stop(a, signals_stop_waiting, NULL);
	if (rc == 0 && atoll_sandbox_create(a, &j->spec, &sb, &e) < 0)
		rc = fail("create a sandbox: %s", e.text);
	if (sb) {
		rc = run_in(sb, j);
		if (j->keep)
			say("sandbox '%s' keeps running", atoll_sandbox_id(sb));
		else
			end_sandbox(a, sb);
	}
	atoll_sandbox_free(sb);
	atoll_free(a);
	return signals_leave(rc);
}

static int run(const struct verb *v, int argc, char **argv)
{
	struct job j = { .spec = { .template_id = template_default(), .timeout_s = 300 } };
	__attribute__((cleanup(program_done))) struct program program = { .fd = -1 };
	autopairs struct pairs envs = { NULL, 0 };
	const char *lang = NULL;
	bool no_stdin = false;
	const struct opt opts[] = {
		SETTINGS_OPTS(&j.conn),
		{ "template", 't', OPT_STR, &j.spec.template_id },
		{ "timeout", 0, OPT_SECONDS, &j.spec.timeout_s },
		{ "env", 'e', OPT_PAIR, &envs },
		{ "lang", 'l', OPT_STR, &lang },
		{ "keep", 'k', OPT_FLAG, &j.keep },
		{ "no-stdin", 'n', OPT_FLAG, &no_stdin },
	};
	int n, rc = verb_parse(v, opts, ARRAY_LEN(opts), 1, argc, argv, &n);

	if (rc >= 0)
		return rc;
	if (n == 0)
		return usage_error(v, "missing operand: a program file, or - for standard input");
	rc = program_open(&program, argv[0], lang);
	if (rc != 0)
		return rc;
	autofree const char **words = program_words(&program, argv + 1, (size_t)n - 1);
	if (!words)
		return fail("out of memory");
	j.program = &program;
	j.argv = words;
	j.spec.envs = envs.v;
	j.spec.n_envs = envs.n;
	j.with_stdin = !no_stdin && strcmp(argv[0], "-") != 0 && !isatty(STDIN_FILENO);
	return run_job(&j);
}

const struct verb verb_run = {
	.name = "run",
	.summary = "Run a program file in a new sandbox, then kill the sandbox",
	.synopsis =
	    "[--lang NAME] [--template NAME] [--timeout SECONDS] [--env NAME=VALUE]... [--keep] FILE|- [ARGUMENT]...",
	.help = "  -l, --lang NAME        " LANG_NAMES "; by default determined by the\n"
		"                         extension (" LANG_EXTENSIONS "),\n"
		"                         else by the #! line; standard input (-) is Python by default\n"
		"  -t, --template NAME    template (default: $E2B_TEMPLATE_ID, else " ATOLL_TEMPLATE_DEFAULT ")\n"
		"      --timeout SECONDS  maximum run time (default: 300)\n"
		"  -e, --env NAME=VALUE   environment variable for the program\n"
		"  -k, --keep             let the sandbox run until its timeout\n"
		"  -n, --no-stdin         do not forward standard input (a terminal is never forwarded)\n"
		"\n"
		"The exit status is the program's. Ctrl-C kills the sandbox.\n"
		"\n" SETTINGS_HELP,
	.run = run,
	.operand = OPERAND_FILE,
};
