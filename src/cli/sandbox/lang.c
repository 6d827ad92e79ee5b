/* SPDX-License-Identifier: Apache-2.0 */
/* cli/sandbox/lang: determines how a program file is run. */
#include "cli/sandbox/lang.h"

#include <string.h>

#include "base/fd.h"

static const struct known {
	const char *name, *program, *extension;
} names[] = {
	{ "python", "python3", ".py" }, { "python3", "python3", ".py" }, { "py", "python3", ".py" },
	/* .mjs allows a program from standard input to use import and top-level await */
	{ "javascript", "node", ".mjs" }, { "js", "node", ".mjs" }, { "node", "node", ".mjs" },
	{ "bash", "bash", ".sh" }, { "sh", "bash", ".sh" }, { "shell", "bash", ".sh" },
}, extensions[] = {
	{ ".py", "python3", ".py" }, { ".js", "node", ".js" }, { ".mjs", "node", ".mjs" }, { ".cjs", "node", ".cjs" },
	{ ".sh", "bash", ".sh" }, { ".bash", "bash", ".sh" },
};

static bool one_word(struct lang *ret, const char *program, const char *extension)
{
	*ret = (struct lang) { .n = 1, .extension = extension };
	if (!str_copy(ret->text, sizeof(ret->text), str_of(program)))
		return false;
	ret->words[0] = ret->text;
	return true;
}

bool lang_by_name(const char *name, struct lang *ret)
{
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		if (str_ieq(str_of(name), str_of(names[i].name)))
			return one_word(ret, names[i].program, names[i].extension);
	}
	return false;
}

bool lang_by_extension(const char *path, struct lang *ret)
{
	for (size_t i = 0; i < ARRAY_LEN(extensions); i++) {
		if (str_ends(str_of(path), extensions[i].name))
			return one_word(ret, extensions[i].program, extensions[i].extension);
	}
	return false;
}

bool lang_by_first_line(struct str head, struct lang *ret)
{
	if (!str_starts(head, "#!"))
		return false;
	str_skip(&head, 2);
	struct str line = str_cut(&head, '\n');
	if (line.n > 0 && line.p[line.n - 1] == '\r')
		line.n--;
	line = str_trim(line);
	*ret = (struct lang) { .extension = "" };
	if (line.n == 0 || line.p[0] != '/' || memchr(line.p, '\0', line.n) ||
	    !str_copy(ret->text, sizeof(ret->text), line))
		return false;
	ret->words[ret->n++] = ret->text;
	char *arg = strpbrk(ret->text, " \t");
	if (arg) {
		*arg++ = '\0';
		ret->words[ret->n++] = arg + strspn(arg, " \t");
	}
	return true;
}
