/* SPDX-License-Identifier: Apache-2.0 */
/* cli/sandbox/cp_tree: copies a directory into or out of a sandbox, as an archive, with a tar process inside. */
#pragma once

#include "client/atoll.h"

struct cp_end {
	struct atoll *a;
	struct atoll_sandbox *sb;
	const char *user; /* NULL: the template's user */
};

/* Copies the contents of one directory into another, which is created if it does not exist. `remote` is relative to
 * the user's home. Returns 0, or EXIT_FAILURE after printing a message. */
int cp_tree_up(const struct cp_end *in, const char *local, const char *remote);
int cp_tree_down(const struct cp_end *in, const char *remote, const char *local);

/* Runs a command without input and output and prints its errors. Returns 0 or EXIT_FAILURE. */
int cp_run(const struct cp_end *in, const char *const *argv);
