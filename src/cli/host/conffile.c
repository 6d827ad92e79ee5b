/* SPDX-License-Identifier: Apache-2.0 */
/* cli/host/conffile: reads lines of `key = value`. */
#include "cli/host/conffile.h"

#include <stdio.h>

#include "base/fd.h"
#include "base/str.h"

char *conffile_get(const char *path, const char *key)
{
	FILE *f = fopen(path, "re");
	char line[4096];
	char *found = NULL;

	while (f && !found && fgets(line, sizeof(line), f)) {
		struct str value = str_of(line);
		struct str name = str_trim(str_cut(&value, '='));

		if (value.n > 0 && value.p[value.n - 1] == '\n')
			value.n--;
		if (value.p && str_is(name, key))
			found = str_dup(str_trim(value));
	}
	if (f)
		(void)fclose(f);
	return found;
}

uint64_t conffile_number(const char *path, const char *key, uint64_t unset)
{
	autofree char *text = path ? conffile_get(path, key) : NULL;
	uint64_t n;

	return text && str_to_u64(str_of(text), UINT32_MAX, &n) == 0 ? n : unset;
}
