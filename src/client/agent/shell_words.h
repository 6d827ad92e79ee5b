/* SPDX-License-Identifier: Apache-2.0 */
/* shell_words: the commands of a line of shell, taken apart and not run: quotes, lists, pipes, groups, substitutions,
 * here-documents.
 *
 * Nothing is expanded, but for $IFS, which is a blank, and the escapes of $'...'. What a shell would call a syntax
 * error is read as well as it can be: the caller looks for what is in there, it does not judge how it is written. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"

#define SHELL_TEXT_MAX (1024 * 1024)
#define SHELL_COMMANDS_MAX 20000
#define SHELL_DEPTH_MAX 24 /* of substitutions and groups in each other */

struct shell_word {
	char *text;                /* without its quotes; what a substitution would give is not in it */
	size_t sub_first, sub_end; /* the commands of its substitutions, in the script; equal: none */
};

struct shell_command {
	struct shell_word *words;
	size_t n_words;
	size_t from_first, from_end; /* the commands whose output is its input; equal: none */
	char *input;                 /* of a here-document or here-string; NULL: none */
};

struct shell_script { /* in an order in which substitutions come before what they are part of */
	struct shell_command *v;
	size_t n;
};

/* -E2BIG: longer or deeper than the limits above; -ENOMEM. */
int shell_parse(struct str text, struct shell_script *ret);
void shell_done(struct shell_script *s);
