/* SPDX-License-Identifier: Apache-2.0 */
/* client/agent/install: installs packages in a sandbox. A package is a name with an optional version, and nothing
 * that an installer would parse as an option or a URL. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "client/client.h"

#define NAMES_MAX 200
#define NAME_MAX_BYTES 214
#define TIMEOUT_MS 300000

#define ALNUM "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
#define LOWER "abcdefghijklmnopqrstuvwxyz0123456789"

/* Returns the length of the prefix of z with characters from set, whose first character must be a letter or digit. */
static size_t name_of(const char *z, const char *set)
{
	return strchr(ALNUM, *z) && *z ? strspn(z, set) : 0;
}

/* Accepts pip's name, [extras] and versions: numpy, pandas[excel]>=2.0,<3; or the absolute path of an archive. */
static bool pip_ok(const char *z)
{
	if (*z == '/')
		return !strstr(z, "..") && strspn(z, ALNUM "/._-+") == strlen(z) &&
		    (str_ends(str_of(z), ".whl") || str_ends(str_of(z), ".tar.gz") || str_ends(str_of(z), ".zip"));
	size_t n = name_of(z, ALNUM "._-");

	if (n == 0)
		return false;
	z += n;
	if (*z == '[') {
		n = strspn(++z, ALNUM "._-,");
		if (n == 0 || z[n] != ']')
			return false;
		z += n + 1;
	}
	while (*z) {
		n = strspn(z, "=<>!~");
		if (n < 1 || n > 3 || !z[n])
			return false;
		z += n;
		n = name_of(z, ALNUM ".*+!_-");
		z += n;
		if (n == 0 || (*z && *z != ',') || (*z == ',' && !z[1]))
			return false;
		z += *z == ',';
	}
	return true;
}

/* Accepts npm's name or @scope/name, with an optional @version. */
static bool npm_ok(const char *z)
{
	if (*z == '@') {
		size_t scope = name_of(++z, ALNUM "._-");

		if (scope == 0 || z[scope] != '/')
			return false;
		z += scope + 1;
	}
	size_t n = name_of(z, ALNUM "._-");

	if (n == 0)
		return false;
	z += n;
	return !*z || (*z == '@' && z[1] && strspn(z + 1, ALNUM "._-^~+") == strlen(z + 1));
}

/* Accepts apt's name, name:arch and name=version. */
static bool apt_ok(const char *z)
{
	size_t n = *z && strchr(LOWER, *z) ? strspn(z, LOWER "+.-") : 0;

	if (n < 2)
		return false;
	z += n;
	if (*z == ':') {
		n = strspn(++z, LOWER);
		if (n == 0)
			return false;
		z += n;
	}
	return !*z || (*z == '=' && z[1] && strspn(z + 1, ALNUM ".+:~-") == strlen(z + 1));
}

static const struct {
	const char *name;
	bool (*ok)(const char *z);
	const char *as_user;
	const char *argv[8];
} managers[] = {
	{ "pip", pip_ok, NULL, { "python3", "-m", "pip", "install", "--no-input", "--disable-pip-version-check" } },
	{ "npm", npm_ok, NULL, { "npm", "install", "--no-fund", "--no-audit", "--no-update-notifier" } },
	{ "apt", apt_ok, "root", { "apt-get", "install", "-y", "--no-install-recommends" } },
};

static int manager_find(const char *name, size_t *ret, struct atoll_error *e)
{
	for (size_t i = 0; i < ARRAY_LEN(managers); i++) {
		if (strcmp(managers[i].name, name) == 0) {
			*ret = i;
			return 0;
		}
	}
	return client_fail(e, EINVAL, 0, "'%.40s' is not one of pip, npm, apt", name);
}

int atoll_package_check(const char *manager, const char *name, struct atoll_error *e)
{
	NEED(e, manager && name);
	size_t m = 0;

	if (manager_find(manager, &m, e) < 0)
		return -e->no;
	if (strlen(name) > NAME_MAX_BYTES || !managers[m].ok(name))
		return client_fail(e, EINVAL, 0, "'%.80s' is not a valid package name for %s", name, manager);
	return 0;
}

int atoll_install(struct atoll_sandbox *sb, const char *manager, const char *const *names, size_t n,
    unsigned timeout_ms, struct atoll_output **ret, struct atoll_error *e)
{
	NEED(e, sb && manager && names);
	const char *argv[ARRAY_LEN(managers[0].argv) + NAMES_MAX + 1] = { NULL };
	static const struct atoll_pair envs[] = { { "DEBIAN_FRONTEND", "noninteractive" } };
	size_t m = 0, k = 0;

	if (manager_find(manager, &m, e) < 0)
		return -e->no;
	if (n == 0 || n > NAMES_MAX)
		return client_fail(e, EINVAL, 0, n ? "more than %d packages at once" : "no packages are named",
		    NAMES_MAX);
	for (size_t i = 0; i < n; i++) {
		if (!names[i] || atoll_package_check(manager, names[i], e) < 0)
			return names[i] ? -e->no : client_fail(e, EINVAL, 0, "the name of package %zu is NULL", i);
	}
	for (; managers[m].argv[k]; k++)
		argv[k] = managers[m].argv[k];
	for (size_t i = 0; i < n; i++)
		argv[k++] = names[i];
	struct atoll_command cmd = { .argv = argv,
		.as_user = managers[m].as_user,
		.timeout_ms = timeout_ms ? timeout_ms : TIMEOUT_MS };

	if (managers[m].as_user) {
		cmd.envs = envs;
		cmd.n_envs = ARRAY_LEN(envs);
	}
	return atoll_command_run(sb, &cmd, NULL, NULL, ret, e);
}
