/* SPDX-License-Identifier: Apache-2.0 */
/* cli/sandbox/cp_tree: a directory into a sandbox or out of it, as an archive through a tar that runs inside. */
#pragma once

#include "client/atoll.h"

struct cp_end {
	struct atoll *a;
	struct atoll_sandbox *sb;
	const char *user; /* NULL: the template's */
};

/* Content of one directory into another, which is made if need be. `remote`: relative to the user's home. 0 or
 * EXIT_FAILURE, said. */
int cp_tree_up(const struct cp_end *in, const char *local, const char *remote);
int cp_tree_down(const struct cp_end *in, const char *remote, const char *local);

/* A command of a copy, without input and output; its errors are shown. 0 or EXIT_FAILURE. */
int cp_run(const struct cp_end *in, const char *const *argv);
