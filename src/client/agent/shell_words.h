/* SPDX-License-Identifier: Apache-2.0 */
/* shell_words: parses the commands of a shell script without running them: quotes, lists, pipes, groups,
 * substitutions, here-documents.
 *
 * Only $IFS, which becomes a space, and the escapes of $'...' are expanded. Syntax errors are tolerated, because the
 * caller looks for commands and does not validate the script. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"

#define SHELL_TEXT_MAX (1024 * 1024)
#define SHELL_COMMANDS_MAX 20000
#define SHELL_DEPTH_MAX 24 /* nesting of substitutions and groups */

struct shell_word {
	char *text;                /* without quotes and the output of substitutions */
	size_t sub_first, sub_end; /* range of its substitutions' commands in the script; empty if equal */
};

struct shell_command {
	struct shell_word *words;
	size_t n_words;
	size_t from_first, from_end; /* range of the commands piped into it; empty if equal */
	char *input;                 /* here-document or here-string, or NULL */
};

struct shell_script { /* substitutions come before the command they are part of */
	struct shell_command *v;
	size_t n;
};

/* Returns 0, -E2BIG if the text is longer or deeper than the limits above, or -ENOMEM. */
int shell_parse(struct str text, struct shell_script *ret);
void shell_done(struct shell_script *s);
