/* SPDX-License-Identifier: Apache-2.0 */
/* mcp/redact: libatoll knows what a secret looks like; here is where to look for it. */
#include "mcp/redact.h"

#include <string.h>

#include "base/fd.h"
#include "base/str.h"
#include "client/atoll.h"

#define SECRET_MIN 6			/* shorter ones would be found everywhere */

json_t *redact_string(json_t *s, const char *const *secrets)
{
	size_t n = 0;

	while (secrets && secrets[n])
		n++;
	autofree char *clean = atoll_redact(json_string_value(s), secrets, n);
	json_t *other = clean ? json_string(clean) : json_string("[not shown: out of memory]");

	json_decref(s);
	return other;
}

void redact_json(json_t *j, const char *const *secrets)
{
	const char *key;
	json_t *v;
	size_t i;

	json_object_foreach(j, key, v) {
		if (!json_is_string(v))
			redact_json(v, secrets);
		else if (strcmp(key, "data") != 0 || !json_object_get(j, "mimeType"))
			json_object_set_new(j, key, redact_string(json_incref(v), secrets));
	}
	json_array_foreach(j, i, v) {
		if (json_is_string(v))
			json_array_set_new(j, i, redact_string(json_incref(v), secrets));
		else
			redact_json(v, secrets);
	}
}

static bool is_secret_name(struct str name)
{
	static const char *const words[] = { "TOKEN", "SECRET", "PASSWORD", "PASSWD", "API_KEY", "APIKEY", "ACCESS_KEY", "PRIVATE_KEY", "CREDENTIAL" };
	autofree char *z = str_dup(name);

	for (size_t i = 0; z && i < ARRAY_LEN(words); i++) {
		if (strcasestr(z, words[i]))
			return true;
	}
	return false;
}

size_t redact_env(char *env, size_t n, const char **ret, size_t max)
{
	size_t found = 0;

	for (size_t at = 0; at < n && found < max;) {
		char *one = env + at;
		size_t len = strnlen(one, n - at);
		char *eq = memchr(one, '=', len);

		at += len + 1;
		if (!eq || at > n || (size_t)(one + len - eq - 1) < SECRET_MIN)
			continue;
		if (is_secret_name((struct str) { one, (size_t)(eq - one) }))
			ret[found++] = eq + 1;
	}
	return found;
}
