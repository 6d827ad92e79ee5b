/* SPDX-License-Identifier: Apache-2.0 */
/* base/secretive: the list of words. */
#include "base/secretive.h"

#include <stddef.h>
#include <string.h>

#include "base/fd.h"

bool secretive_name(const char *name)
{
	static const char *const parts[] = { "TOKEN", "SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "APIKEY", "API_KEY",
		"ACCESS_KEY", "PRIVATE_KEY", "CREDENTIAL" };
	size_t n = strlen(name);

	for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
		if (strcasestr(name, parts[i]))
			return true;
	}
	/* Does not match MONKEY and KEYBOARD. */
	return strcasestr(name, "_KEY_") || (n > 4 && strcasecmp(name + n - 4, "_KEY") == 0) ||
	    strcasecmp(name, "KEY") == 0;
}
