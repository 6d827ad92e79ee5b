/* SPDX-License-Identifier: Apache-2.0 */
/* cli/sandbox/login: runs a command through a login shell. */
#include "cli/sandbox/login.h"

#include <stdlib.h>
#include <string.h>

#include "base/fd.h"

const char **login_command(const char *const *words, size_t n)
{
	/* The words are passed as arguments, not as part of the script, so nothing needs quoting. */
	static const char *const shell[] = { "/bin/bash", "-l", "-c", "exec -- \"$@\"", "atoll" };
	const char **v = calloc(ARRAY_LEN(shell) + n + 1, sizeof(*v));

	if (!v)
		return NULL;
	memcpy(v, shell, sizeof(shell));
	memcpy(v + ARRAY_LEN(shell), words, n * sizeof(*v));
	return v;
}
