/* SPDX-License-Identifier: Apache-2.0 */
/* client/agent/policy_code: finds shell commands in code: bash cells, ! lines, %%bash, and string literals passed to
 * os.system, subprocess and child_process. Commands assembled at run time are not found. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "base/fd.h"
#include "client/agent/policy.h"

#define LITERALS_MAX 64 /* per call */

static bool is_word(char c)
{
	return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Reads the literal at s->p, which is a quote, and advances past it. An escape is replaced by the character after it,
 * except \n and \t. */
static void take_literal(struct str *s, struct buf *out)
{
	char quote = *s->p;
	bool three = s->n >= 3 && s->p[1] == quote && s->p[2] == quote && quote != '`';

	str_skip(s, three ? 3 : 1);
	while (s->n > 0) {
		if (*s->p == quote && (!three || (s->n >= 3 && s->p[1] == quote && s->p[2] == quote))) {
			str_skip(s, three ? 3 : 1);
			return;
		}
		if (*s->p == '\n' && !three && quote != '`')
			return; /* unterminated: not a literal */
		if (*s->p == '\\' && s->n > 1) {
			buf_ch(out, s->p[1] == 'n' ? '\n' : s->p[1] == 't' ? '\t' : s->p[1]);
			str_skip(s, 2);
			continue;
		}
		buf_ch(out, *s->p);
		str_skip(s, 1);
	}
}

/* Scans the literals of a call whose "(" was just read. A single one is a shell command line; several are the words
 * of a command. */
static void scan_call(struct finding *f, struct str s)
{
	autobuf struct buf line = BUF_INIT(SHELL_TEXT_MAX), words = BUF_INIT(SHELL_TEXT_MAX);
	const char *begin = s.p;
	unsigned open = 1, n = 0;

	while (s.n > 0 && open > 0 && n < LITERALS_MAX) {
		char c = *s.p;

		if (c == '"' || c == '\'' || c == '`') {
			buf_clear(&line);
			take_literal(&s, &line);
			buf_z(&words, n++ ? " '" : "'");
			for (size_t i = 0; i < line.n; i++)
				buf_z(&words, line.p[i] == '\'' ? "'\\''" : (char[2]) { line.p[i], 0 });
			buf_ch(&words, '\'');
			continue;
		}
		open += c == '(' || c == '[';
		open -= c == ')' || c == ']';
		str_skip(&s, 1);
	}
	f->work += (size_t)(s.p - begin);
	if (n == 1 && !line.bad && line.n)
		policy_scan_shell(f, buf_view(&line));
	else if (n > 1 && !words.bad)
		policy_scan_shell(f, buf_view(&words));
}

static const char *const python_calls[] = {
	"os.system(",
	"os.popen(",
	"subprocess.run(",
	"subprocess.call(",
	"subprocess.Popen(",
	"subprocess.check_call(",
	"subprocess.check_output(",
	"subprocess.getoutput(",
	"subprocess.getstatusoutput(",
	"get_ipython().system(",
	NULL,
};
static const char *const js_calls[] = { "exec(", "execSync(", "spawn(", "spawnSync(", "execFile(", "execFileSync(",
	NULL };

static void scan_calls(struct finding *f, struct str code, const char *const *calls)
{
	for (size_t at = 0; at < code.n; at++) {
		struct str rest = { code.p + at, code.n - at };

		if (at > 0 && is_word(code.p[at - 1]))
			continue;
		for (size_t i = 0; calls[i]; i++) {
			if (!str_starts(rest, calls[i]))
				continue;
			f->work += 64;
			if (f->work > POLICY_WORK_MAX) {
				finding_builtin(f, "too-complex");
				return;
			}
			scan_call(f, (struct str) { rest.p + strlen(calls[i]), rest.n - strlen(calls[i]) });
		}
	}
}

static struct str left_trim(struct str s)
{
	while (s.n > 0 && (*s.p == ' ' || *s.p == '\t'))
		str_skip(&s, 1);
	return s;
}

/* Scans the ! and % lines of IPython. */
static void scan_magics(struct finding *f, struct str code)
{
	for (struct str rest = code; rest.p;) {
		struct str whole = rest, line = left_trim(str_cut(&rest, '\n'));

		if (str_starts(line, "%%bash") || str_starts(line, "%%sh") || str_starts(line, "%%script")) {
			(void)str_cut(&whole, '\n');
			if (whole.p)
				policy_scan_shell(f, whole);
			return;
		}
		if (str_starts(line, "%sx ") || str_starts(line, "%system "))
			(void)str_cut(&line, ' ');
		else if (!str_starts(line, "!"))
			continue;
		while (line.n > 0 && *line.p == '!')
			str_skip(&line, 1);
		policy_scan_shell(f, line);
	}
}

void policy_scan_code(struct finding *f, const char *language, struct str code)
{
	static const char *const shells[] = { "bash", "sh", "shell", "zsh" };

	for (size_t i = 0; i < ARRAY_LEN(shells); i++) {
		if (strcasecmp(language, shells[i]) == 0) {
			policy_scan_shell(f, code);
			return;
		}
	}
	if (strncasecmp(language, "py", 2) == 0) {
		scan_magics(f, code);
		scan_calls(f, code, python_calls);
	} else if (strcasecmp(language, "js") == 0 || strcasecmp(language, "ts") == 0 ||
	    strcasecmp(language, "javascript") == 0 || strcasecmp(language, "typescript") == 0) {
		scan_calls(f, code, js_calls);
	}
}
