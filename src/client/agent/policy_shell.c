/* SPDX-License-Identifier: Apache-2.0 */
/* client/agent/policy_shell: determines what shell commands would do, as far as possible without running them.
 *
 * Names are compared without their directory, options separate or combined, and paths after they are resolved. For a
 * command that runs another one (env, timeout, xargs, sh -c, eval, find -exec), the inner command is checked, too. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/fd.h"
#include "client/agent/policy.h"

struct cmd { /* one command, without assignments before its name */
	struct finding *f;
	const struct shell_script *s;
	const struct shell_command *c;
	const struct shell_word *w;
	size_t n;
	const char *name;
};

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

static bool is_one_of(const char *z, const char *const *all)
{
	for (; *all; all++) {
		if (strcmp(*all, z) == 0)
			return true;
	}
	return false;
}

static bool is_shell(const char *name)
{
	static const char *const all[] = { "sh", "bash", "dash", "zsh", "ksh", "ash", "fish", "mksh", NULL };

	return is_one_of(name, all);
}

static bool is_interpreter(const char *name)
{
	static const char *const all[] = { "python", "python3", "perl", "ruby", "node", "php", NULL };

	return is_shell(name) || is_one_of(name, all);
}

/* True if the words contain an option: -x (also in a cluster) or --long (also --long=...). */
static bool has_option(const struct cmd *k, const char *letters, const char *long_name)
{
	for (size_t i = 1; i < k->n; i++) {
		const char *z = k->w[i].text;

		if (strcmp(z, "--") == 0)
			return false;
		if (z[0] != '-' || !z[1])
			continue;
		if (z[1] == '-' ? long_name && strncmp(z + 2, long_name, strlen(long_name)) == 0
				: strpbrk(z + 1, letters) != NULL)
			return true;
	}
	return false;
}

/* Returns the index of the first "--", or the number of words: no options follow it. */
static size_t options_end(const struct cmd *k)
{
	size_t i = 1;

	while (i < k->n && strcmp(k->w[i].text, "--") != 0)
		i++;
	return i;
}

static bool is_option(const struct cmd *k, size_t i, size_t end)
{
	return i <= end && k->w[i].text[0] == '-' && k->w[i].text[1];
}

/* --- the rules --- */

/* True for "/" and directories that the system needs. Wildcards at the end stand for the directory. */
static bool is_vital(const struct finding *f, const char *path)
{
	static const char *const all[] = {
		"/",
		"/bin",
		"/boot",
		"/dev",
		"/etc",
		"/home",
		"/lib",
		"/lib32",
		"/lib64",
		"/opt",
		"/proc",
		"/root",
		"/sbin",
		"/sys",
		"/usr",
		"/var",
		NULL,
	};
	char cut[4096], whole[4096];
	size_t n = strlen(path);

	while (n > 0 && strchr("*?", path[n - 1]))
		n--;
	if (n < strlen(path) && n > 0 && path[n - 1] != '/')
		return false; /* /tmp* does not match all of / */
	if (!str_copy(cut, sizeof cut, (struct str) { path, n }) || (cut[0] != '/' && !f->cwd[0]))
		return false;
	return policy_resolve(f->cwd[0] ? f->cwd : "/", cut, whole, sizeof whole) && is_one_of(whole, all);
}

static void rule_rm(const struct cmd *k)
{
	size_t end = options_end(k);

	if (has_option(k, "", "no-preserve-root"))
		finding_builtin(k->f, "rm-root");
	if (!has_option(k, "rR", "recursive"))
		return;
	for (size_t i = 1; i < k->n; i++) {
		if (!is_option(k, i, end) && is_vital(k->f, k->w[i].text))
			finding_builtin(k->f, "rm-root");
	}
}

static void rule_chmod(const struct cmd *k)
{
	static const char *const modes[] = { "777", "0777", "00777", "1777", "2777", "4777", "6777", "7777", "a+rwx",
		"ugo+rwx", "a=rwx", "ugo=rwx", "+rwx", NULL };
	size_t end = options_end(k);

	for (size_t i = 1; i < k->n; i++) {
		if (is_option(k, i, end))
			continue;
		if (is_one_of(k->w[i].text, modes))
			finding_builtin(k->f, "chmod-777");
		return; /* the first operand is the mode */
	}
}

static void rule_dd(const struct cmd *k)
{
	for (size_t i = 1; i < k->n; i++) {
		if (strncmp(k->w[i].text, "if=", 3) == 0)
			finding_builtin(k->f, "dd");
	}
}

static void rule_systemctl(const struct cmd *k)
{
	for (size_t i = 1; i < k->n; i++) {
		const char *z = k->w[i].text;

		if (strcmp(z, "poweroff") == 0 || strcmp(z, "halt") == 0)
			finding_builtin(k->f, "shutdown");
		else if (strcmp(z, "reboot") == 0 || strcmp(z, "kexec") == 0)
			finding_builtin(k->f, "reboot");
	}
}

static void rule_init(const struct cmd *k)
{
	if (k->n > 1 && strcmp(k->w[1].text, "0") == 0)
		finding_builtin(k->f, "shutdown");
	else if (k->n > 1 && strcmp(k->w[1].text, "6") == 0)
		finding_builtin(k->f, "reboot");
}

/* Scans a command within the words of another one, with the same nesting limit as for text. */
static void scan_slice(const struct cmd *k, size_t from, size_t to)
{
	if (from >= to)
		return;
	k->f->work += to - from;
	if (k->f->nested >= POLICY_NEST_MAX || k->f->work > POLICY_WORK_MAX) {
		finding_builtin(k->f, "too-complex");
		return;
	}
	k->f->nested++;
	policy_scan_words(k->f, k->s, k->c, k->w + from, to - from);
	k->f->nested--;
}

static void rule_find(const struct cmd *k)
{
	bool vital = k->n > 1 && is_vital(k->f, k->w[1].text);

	for (size_t i = 1; i < k->n; i++) {
		const char *z = k->w[i].text;

		if (vital && strcmp(z, "-delete") == 0)
			finding_builtin(k->f, "rm-root");
		if (strncmp(z, "-exec", 5) != 0 && strncmp(z, "-ok", 3) != 0)
			continue;
		size_t end = i + 1;

		while (end < k->n && strcmp(k->w[end].text, ";") != 0 && strcmp(k->w[end].text, "+") != 0)
			end++;
		scan_slice(k, i + 1, end);
		i = end;
	}
}

/* --- downloads that are executed --- */

static const char *download_in(const struct shell_script *s, size_t first, size_t end)
{
	for (size_t i = first; i < end && i < s->n; i++) {
		for (size_t j = 0; j < s->v[i].n_words; j++) {
			const char *name = base_name(s->v[i].words[j].text);

			if (strcmp(name, "curl") == 0)
				return "curl-pipe-shell";
			if (strcmp(name, "wget") == 0)
				return "wget-pipe-shell";
			if (!strchr(name, '='))
				break; /* only assignments may precede it */
		}
	}
	return NULL;
}

static void add_download(const struct cmd *k, size_t first, size_t end)
{
	const char *id = first < end ? download_in(k->s, first, end) : NULL;

	if (id)
		finding_builtin(k->f, id);
}

/* A shell at the end of a pipe runs the output of echo and cat. */
static void scan_pipe(const struct cmd *k)
{
	for (size_t i = k->c->from_first; i < k->c->from_end && i < k->s->n; i++) {
		const struct shell_command *c = &k->s->v[i];
		autobuf struct buf text = BUF_INIT(SHELL_TEXT_MAX);

		for (size_t j = 1; j < c->n_words; j++) {
			buf_z(&text, c->words[j].text);
			buf_ch(&text, ' ');
		}
		const char *name = c->n_words ? base_name(c->words[0].text) : "";

		if ((strcmp(name, "echo") == 0 || strcmp(name, "printf") == 0) && !text.bad && text.n)
			policy_scan_shell(k->f, buf_view(&text));
		if (c->input)
			policy_scan_shell(k->f, str_of(c->input));
	}
}

/* Checks what sh, bash and other shells run: the text of -c, a file, or standard input. */
static void rule_shell(const struct cmd *k)
{
	bool takes_text = false;

	for (size_t i = 1; i < k->n; i++) {
		const char *z = k->w[i].text;

		if (z[0] == '-' && z[1] && strcmp(z, "-s") != 0) {
			takes_text |= z[1] != '-' && strchr(z + 1, 'c') != NULL;
			i += strcmp(z, "-o") == 0 || strcmp(z, "+O") == 0 || strcmp(z, "--rcfile") == 0;
			continue;
		}
		if (strcmp(z, "-s") == 0 || strcmp(z, "-") == 0 || strcmp(z, "/dev/stdin") == 0)
			break;
		add_download(k, k->w[i].sub_first, k->w[i].sub_end);
		if (takes_text)
			policy_scan_shell(k->f, str_of(z));
		return;
	}
	add_download(k, k->c->from_first, k->c->from_end);
	scan_pipe(k);
	if (k->c->input)
		policy_scan_shell(k->f, str_of(k->c->input));
}

/* Checks python -c, node -e, or a program from standard input. */
static void rule_interpreter(const struct cmd *k)
{
	bool python = strncmp(k->name, "python", 6) == 0;

	for (size_t i = 1; i < k->n; i++) {
		const char *z = k->w[i].text;

		if (strcmp(z, "-") == 0)
			break;
		if (z[0] != '-') {
			add_download(k, k->w[i].sub_first, k->w[i].sub_end);
			return;
		}
		if (strcmp(z, "-m") == 0)
			return; /* python -m json.tool reads data, not a program */
		if ((strcmp(z, "-c") == 0 || strcmp(z, "-e") == 0) && i + 1 < k->n) {
			add_download(k, k->w[i + 1].sub_first, k->w[i + 1].sub_end);
			if (python || strcmp(k->name, "node") == 0)
				policy_scan_code(k->f, python ? "python" : "javascript", str_of(k->w[i + 1].text));
			return;
		}
	}
	add_download(k, k->c->from_first, k->c->from_end);
	if (k->c->input && python)
		policy_scan_code(k->f, "python", str_of(k->c->input));
}

static void rule_eval(const struct cmd *k)
{
	autobuf struct buf text = BUF_INIT(SHELL_TEXT_MAX);

	for (size_t i = 1; i < k->n; i++) {
		add_download(k, k->w[i].sub_first, k->w[i].sub_end);
		buf_z(&text, k->w[i].text);
		buf_ch(&text, ' ');
	}
	if (!text.bad && text.n && strcmp(k->name, "eval") == 0)
		policy_scan_shell(k->f, buf_view(&text));
}

static void rule_cd(const struct cmd *k)
{
	char to[sizeof k->f->cwd];

	if (k->n > 1 && (k->w[1].text[0] == '/' || k->f->cwd[0]) &&
	    policy_resolve(k->f->cwd[0] ? k->f->cwd : "/", k->w[1].text, to, sizeof to))
		memcpy(k->f->cwd, to, sizeof to);
	else
		k->f->cwd[0] = '\0';
}

/* --- rules by command name --- */

static const struct {
	const char *name, *id;
	void (*run)(const struct cmd *k); /* NULL: the name suffices */
} names[] = {
	{ "rm", NULL, rule_rm },
	{ "chmod", NULL, rule_chmod },
	{ "dd", NULL, rule_dd },
	{ "find", NULL, rule_find },
	{ "systemctl", NULL, rule_systemctl },
	{ "init", NULL, rule_init },
	{ "telinit", NULL, rule_init },
	{ "cd", NULL, rule_cd },
	{ "eval", NULL, rule_eval },
	{ "source", NULL, rule_eval },
	{ ".", NULL, rule_eval },
	{ "format", "format", NULL },
	{ "format.com", "format", NULL },
	{ "mkfs", "mkfs", NULL },
	{ "mke2fs", "mkfs", NULL },
	{ "mkswap", "mkfs", NULL },
	{ "shutdown", "shutdown", NULL },
	{ "poweroff", "shutdown", NULL },
	{ "halt", "shutdown", NULL },
	{ "reboot", "reboot", NULL },
	{ "sudo", "sudo", NULL },
	{ "sudoedit", "sudo", NULL },
	{ "doas", "sudo", NULL },
	{ "su", "su", NULL },
	{ "runuser", "su", NULL },
	{ "passwd", "passwd", NULL },
	{ "chpasswd", "passwd", NULL },
};

static void scan_named(const struct cmd *k)
{
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		if (strcmp(names[i].name, k->name) != 0)
			continue;
		if (names[i].id)
			finding_builtin(k->f, names[i].id);
		if (names[i].run)
			names[i].run(k);
	}
	if (strncmp(k->name, "mkfs.", 5) == 0)
		finding_builtin(k->f, "mkfs");
	if (is_shell(k->name))
		rule_shell(k);
	else if (is_interpreter(k->name) || strncmp(k->name, "python3.", 8) == 0)
		rule_interpreter(k);
}

/* --- commands that run other commands --- */

static const struct {
	const char *name, *with_value; /* options whose value is the next word */
	unsigned operands;             /* operands before the command */
} wrappers[] = {
	{ "env", "uCS", 0 },
	{ "nohup", "", 0 },
	{ "nice", "n", 0 },
	{ "ionice", "cnp", 0 },
	{ "timeout", "sk", 1 },
	{ "stdbuf", "ioe", 0 },
	{ "setsid", "", 0 },
	{ "exec", "a", 0 },
	{ "command", "", 0 },
	{ "builtin", "", 0 },
	{ "xargs", "IniLPdEas", 0 },
	{ "busybox", "", 0 },
	{ "toybox", "", 0 },
	{ "chroot", "", 1 },
	{ "watch", "nd", 0 },
	{ "strace", "eopsu", 0 },
	{ "sudo", "ugpCTRDhU", 0 },
	{ "doas", "uC", 0 },
	{ "time", "fo", 0 },
	{ "flock", "wE", 1 },
	{ "unshare", "SG", 0 },
	{ "nsenter", "tSG", 0 },
	{ "taskset", "", 1 },
	{ "trap", "", 0 },
};

static bool is_assignment(const char *z)
{
	const char *p = z;

	while (*p == '_' || (*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') || (p > z && *p >= '0' && *p <= '9'))
		p++;
	return p > z && (*p == '=' || (p[0] == '+' && p[1] == '='));
}

static bool is_number(const char *z)
{
	return *z && strspn(z, "0123456789") == strlen(z);
}

/* Returns the number of words of the wrapper with its options, or 0 if it is not one. */
static size_t wrapper_words(const struct cmd *k)
{
	size_t i = 1;

	for (size_t w = 0; w < ARRAY_LEN(wrappers); w++) {
		if (strcmp(wrappers[w].name, k->name) != 0)
			continue;
		for (; i < k->n && k->w[i].text[0] == '-'; i++) {
			const char *z = k->w[i].text;

			if (strcmp(z, "--") == 0) {
				i++;
				break;
			}
			if (strcmp(k->name, "env") == 0 && strncmp(z, "-S", 2) == 0)
				policy_scan_shell(k->f, str_of(z[2] ? z + 2 : i + 1 < k->n ? k->w[i + 1].text : ""));
			if (z[1] && z[1] != '-' && !z[2] && strchr(wrappers[w].with_value, z[1]) && i + 1 < k->n)
				i++;
		}
		i += wrappers[w].operands;
		/* Skip numbers, as in "nice -10 cmd" and "strace -p 1 cmd": a number is never a command. That of
		 * "timeout 5 cmd" is skipped above. */
		while (i < k->n && is_number(k->w[i].text))
			i++;
		return i;
	}
	return 0;
}

void policy_scan_words(struct finding *f, const struct shell_script *s, const struct shell_command *c,
    const struct shell_word *w, size_t n)
{
	size_t skip;

	for (; n > 0; w += skip, n -= skip) {
		while (n > 0 && is_assignment(w[0].text))
			w++, n--;
		if (n == 0)
			return;
		struct cmd k = { f, s, c, w, n, base_name(w[0].text) };

		scan_named(&k);
		skip = wrapper_words(&k);
		if (skip == 0 || skip >= n)
			return;
		if (strcmp(k.name, "trap") == 0)
			policy_scan_shell(f, str_of(w[skip].text));
	}
}

/* Applies the operator's rules to a command, with single spaces between words and its name without a directory. */
static void match_command(struct finding *f, const struct shell_command *c)
{
	autobuf struct buf text = BUF_INIT(SHELL_TEXT_MAX);
	size_t i = 0;

	while (i < c->n_words && is_assignment(c->words[i].text))
		i++;
	for (size_t first = i; i < c->n_words; i++) {
		buf_z(&text, i > first ? " " : "");
		buf_z(&text, i > first ? c->words[i].text : base_name(c->words[i].text));
	}
	if (text.n && !text.bad)
		policy_match(f, POLICY_COMMAND, false, NULL, 0, buf_view(&text));
}

void policy_scan_shell(struct finding *f, struct str text)
{
	struct shell_script s;

	/* A text that is too complex to scan is a finding, because it cannot be shown to be safe. */
	f->work += text.n;
	int rc = f->nested >= POLICY_NEST_MAX || f->work > POLICY_WORK_MAX ? -E2BIG : shell_parse(text, &s);

	if (rc < 0) {
		finding_builtin(f, "too-complex");
		return;
	}
	f->nested++;
	for (size_t i = 0; i < s.n; i++) {
		policy_scan_words(f, &s, &s.v[i], s.v[i].words, s.v[i].n_words);
		if (f->p->n_rules)
			match_command(f, &s.v[i]);
	}
	f->nested--;
	shell_done(&s);
}
