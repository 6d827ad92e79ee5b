/* SPDX-License-Identifier: Apache-2.0 */
/* cli/sandbox/login: a command as a login shell runs it. */
#include "cli/sandbox/login.h"

#include <stdlib.h>
#include <string.h>

#include "base/fd.h"

const char **login_command(const char *const *words, size_t n)
{
	/* The words are arguments, never part of the script: nothing has to be quoted. */
	static const char *const shell[] = { "/bin/bash", "-l", "-c", "exec -- \"$@\"", "atoll" };
	const char **v = calloc(ARRAY_LEN(shell) + n + 1, sizeof(*v));

	if (!v)
		return NULL;
	memcpy(v, shell, sizeof(shell));
	memcpy(v + ARRAY_LEN(shell), words, n * sizeof(*v));
	return v;
}
