/* SPDX-License-Identifier: Apache-2.0 */
/* cli/sandbox/lang: determines how a program file is run: by its extension, by the name of a language, or by its
 * first line. No I/O. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"

#define LANG_WORDS_MAX 4
#define LANG_TEXT_MAX 256 /* longest first line that is used */

struct lang { /* the words before the file's name in the command */
	char text[LANG_TEXT_MAX];
	const char *words[LANG_WORDS_MAX]; /* point into text */
	size_t n;
	const char *extension; /* for a program without a file name: ".py" */
};

/* Accepts "python", "py", "python3", "javascript", "js", "node", "bash" and "sh", in any case. Returns false for
 * others. */
bool lang_by_name(const char *name, struct lang *ret);
bool lang_by_extension(const char *path, struct lang *ret);

/* Parses "#!/usr/bin/env python3", with one argument at most, as the kernel does. head: the first bytes of the file. */
bool lang_by_first_line(struct str head, struct lang *ret);

#define LANG_NAMES "python, javascript, bash"
#define LANG_EXTENSIONS ".py, .js, .mjs, .cjs, .sh"
