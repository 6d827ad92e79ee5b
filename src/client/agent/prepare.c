/* SPDX-License-Identifier: Apache-2.0 */
/* client/agent/prepare: converts code written by a model to the form in which it is run. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/fd.h"
#include "client/client.h"
#include "http/json.h"

static const struct {
	const char *alias, *name;
} languages[] = {
	{ "python", "python" },
	{ "python3", "python" },
	{ "py", "python" },
	{ "ipython", "python" },
	{ "javascript", "javascript" },
	{ "js", "javascript" },
	{ "node", "javascript" },
	{ "nodejs", "javascript" },
	{ "mjs", "javascript" },
	{ "typescript", "typescript" },
	{ "ts", "typescript" },
	{ "bash", "bash" },
	{ "sh", "bash" },
	{ "shell", "bash" },
	{ "zsh", "bash" },
	{ "console", "bash" },
	{ "r", "r" },
	{ "java", "java" },
};

const char *atoll_language(const char *name)
{
	for (size_t i = 0; name && i < ARRAY_LEN(languages); i++) {
		if (strcasecmp(languages[i].alias, name) == 0)
			return languages[i].name;
	}
	return NULL;
}

/* --- detecting the language --- */

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

static struct str left_trim(struct str s)
{
	while (s.n > 0 && is_blank(*s.p))
		str_skip(&s, 1);
	return s;
}

static bool contains(struct str s, const char *z)
{
	return memmem(s.p, s.n, z, strlen(z)) != NULL;
}

/* Adds the evidence in a line for each language. */
static void weigh(struct str line, int *python, int *js, int *ts, int *bash)
{
	static const char *const py_starts[] = { "def ", "import ", "from ", "print(", "elif ", "except", "class ",
		"with ", "async def ", "@", "!pip", "%" };
	static const char *const js_starts[] = { "const ", "let ", "var ", "function ", "console.", "async function ",
		"export ", "//", "} else {", "require(" };
	static const char *const sh_starts[] = { "echo ", "ls ", "cd ", "mkdir ", "export ", "fi", "done", "apt-get ",
		"pip install", "npm ", "cat ", "grep ", "curl ", "git ", "sudo ", "set -", "touch ", "rm " };

	for (size_t i = 0; i < ARRAY_LEN(py_starts); i++)
		*python += 2 * str_starts(line, py_starts[i]);
	for (size_t i = 0; i < ARRAY_LEN(js_starts); i++)
		*js += 2 * str_starts(line, js_starts[i]);
	for (size_t i = 0; i < ARRAY_LEN(sh_starts); i++)
		*bash += str_starts(line, sh_starts[i]);
	*python += line.n > 0 && line.p[line.n - 1] == ':';
	*js += line.n > 0 && (line.p[line.n - 1] == ';' || line.p[line.n - 1] == '{');
	*js += contains(line, "=>") + contains(line, "===");
	*bash += 2 * (contains(line, "; then") || contains(line, "; do") || contains(line, "$("));
	*ts += str_starts(line, "interface ") || str_starts(line, "type ") || contains(line, ": string") ||
	    contains(line, ": number") || contains(line, ": boolean");
}

const char *atoll_language_guess(const char *code)
{
	int python = 0, js = 0, ts = 0, bash = 0;
	struct str rest = str_of(code);

	if (str_starts(rest, "#!"))
		return contains(str_cut(&rest, '\n'), "python") ? "python"
		    : contains(str_of(code), "node")            ? "javascript"
								: "bash";
	while (rest.p) {
		struct str line = left_trim(str_cut(&rest, '\n'));

		while (line.n > 0 && is_blank(line.p[line.n - 1]))
			line.n--;
		weigh(line, &python, &js, &ts, &bash);
	}
	if (ts > 0 && js + ts > python)
		return "typescript";
	if (js > python && js >= bash)
		return "javascript";
	return bash > python ? "bash" : "python";
}

/* --- fences and indents --- */

static bool is_fence(struct str line)
{
	return str_starts(left_trim(line), "```") || str_starts(left_trim(line), "~~~");
}

/* If the whole text is one fenced block, returns its content, and its language if it has one. */
static struct str unfence(struct str code, char language[32])
{
	struct str rest = code, before = code;

	while (rest.p && rest.n > 0 && (is_blank(*rest.p) || *rest.p == '\n'))
		str_skip(&rest, 1);
	if (!is_fence(rest))
		return before;
	struct str head = left_trim(str_cut(&rest, '\n'));
	struct str body = rest.p ? rest : STR_LIT("");

	str_skip(&head, 3);
	head = str_trim(head);
	if (head.n > 0 && head.p[head.n - 1] == '\r')
		head.n--;
	(void)str_copy(language, 32, head);
	for (size_t at = 0; rest.p;) {
		struct str line = str_cut(&rest, '\n');

		if (is_fence(line))
			return (struct str) { body.p, at };
		at += line.n + 1;
	}
	return body;
}

static size_t indent_of(struct str code)
{
	size_t least = SIZE_MAX;

	for (struct str rest = code; rest.p;) {
		struct str line = str_cut(&rest, '\n');
		size_t n = 0;

		while (n < line.n && is_blank(line.p[n]))
			n++;
		if (n < line.n && n < least)
			least = n;
	}
	return least == SIZE_MAX ? 0 : least;
}

static void put_dedented(struct buf *out, struct str code)
{
	size_t indent = indent_of(code);

	if (indent == 0) {
		buf_str(out, code);
		return;
	}
	for (struct str rest = code; rest.p;) {
		struct str line = str_cut(&rest, '\n');

		str_skip(&line, line.n < indent ? line.n : indent);
		buf_str(out, line);
		if (rest.p)
			buf_ch(out, '\n');
	}
}

/* --- prepended code --- */

static bool wants_imports(struct str code)
{
	static const char *const not_before[] = { "!", "%", "import ", "from __future__" };

	while (code.n > 0 && (is_blank(*code.p) || *code.p == '\n'))
		str_skip(&code, 1);
	for (size_t i = 0; i < ARRAY_LEN(not_before); i++) {
		if (str_starts(code, not_before[i]))
			return false;
	}
	return true;
}

int atoll_prepare_code(const char *language, const char *code, const char **ret_language, char **ret,
    struct atoll_error *e)
{
	NEED(e, code && ret);
	char fence[32] = "";
	autobuf struct buf plain = BUF_INIT(ATOLL_CODE_MAX + 1), out = BUF_INIT(ATOLL_CODE_MAX + 128);

	if (strlen(code) > ATOLL_CODE_MAX)
		return client_fail(e, E2BIG, 0, "the code is longer than %d bytes", ATOLL_CODE_MAX);
	struct str body = unfence(str_of(code), fence);
	const char *asked = language ? language : *fence ? fence : NULL, *name;

	put_dedented(&plain, body);
	if (plain.bad)
		return client_no_memory(e);
	name = asked ? atoll_language(asked) : atoll_language_guess(plain.n ? buf_cstr(&plain) : "");
	if (!name)
		return client_fail(e, EINVAL, 0, "Unsupported language: %.60s", asked);
	if (strcmp(name, "typescript") == 0 && !contains(plain.n ? buf_view(&plain) : STR_LIT(""), "@ts-nocheck"))
		buf_z(&out, "// @ts-nocheck\n");
	if (strcmp(name, "python") == 0 && wants_imports(buf_view(&plain)))
		buf_z(&out, "import sys\nimport os\n");
	buf_str(&out, plain.n ? buf_view(&plain) : STR_LIT(""));
	char *text = out.bad ? NULL : str_dup(out.n ? buf_view(&out) : STR_LIT(""));

	if (!text)
		return client_no_memory(e);
	if (ret_language)
		*ret_language = name;
	*ret = text;
	return 0;
}

/* --- working directory --- */

static char *shell_quoted(const char *z)
{
	autobuf struct buf out = BUF_INIT(64 * 1024);

	buf_ch(&out, '\'');
	for (; *z; z++) {
		if (*z == '\'')
			buf_z(&out, "'\\''");
		else
			buf_ch(&out, *z);
	}
	buf_ch(&out, '\'');
	return out.bad ? NULL : str_dup(buf_view(&out));
}

int client_chdir_code(const char *language, const char *dir, char **ret, struct atoll_error *e)
{
	static const struct {
		const char *language, *head, *tail;
	} all[] = {
		{ "python", "__import__('os').chdir(", ")" },
		{ "javascript", "process.chdir(", ")" },
		{ "typescript", "process.chdir(", ")" },
		{ "bash", "cd -- ", "" },
		{ "r", "invisible(setwd(", "))" },
	};
	size_t i = 0;

	while (i < ARRAY_LEN(all) && strcmp(all[i].language, language) != 0)
		i++;
	if (i == ARRAY_LEN(all))
		return client_fail(e, EINVAL, 400, "field 'workingDirectory' is not supported for %s", language);
	if (!*dir || strlen(dir) > 4096 || strpbrk(dir, "\r\n"))
		return client_fail(e, EINVAL, 400, "field 'workingDirectory' must be a directory path");
	autojson json_t *j = json_string(dir);
	/* a JSON string is also a valid literal in these languages */
	autofree char *quoted = i == 3 ? shell_quoted(dir) : j ? json_dumps(j, JSON_ENCODE_ANY) : NULL;

	if (!j)
		return client_fail(e, EINVAL, 400, "field 'workingDirectory' is not valid UTF-8");
	*ret = quoted ? str_fmt("%s%s%s", all[i].head, quoted, all[i].tail) : NULL;
	return *ret ? 0 : client_no_memory(e);
}
