/* SPDX-License-Identifier: Apache-2.0 */
/* path: turns a path given by a client into an absolute one. */
#include "init/files/path.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"

char *path_clean(const char *path)
{
	size_t n = strlen(path);
	char *out = malloc(n + 2);
	bool rooted = path[0] == '/';
	size_t w = 0, floor = 0; /* ".." removes nothing before floor */

	if (!out)
		return NULL;
	if (rooted) {
		out[w++] = '/';
		floor = 1;
	}
	for (size_t i = 0; i < n;) {
		size_t len = strcspn(path + i, "/");
		const char *c = path + i;

		i += len + (path[i + len] == '/');
		if (len == 0 || (len == 1 && c[0] == '.'))
			continue;
		if (len == 2 && c[0] == '.' && c[1] == '.') {
			if (w > floor) {
				while (w > floor && out[w - 1] != '/')
					w--;
				if (w > floor)
					w--;
				continue;
			}
			if (rooted)
				continue;
		}
		if (w > (rooted ? 1u : 0u))
			out[w++] = '/';
		memcpy(out + w, c, len);
		w += len;
		if (!rooted && len == 2 && c[0] == '.' && c[1] == '.')
			floor = w;
	}
	if (w == 0)
		out[w++] = '.';
	out[w] = '\0';
	return out;
}

char *path_join(const char *dir, const char *rel)
{
	autofree char *raw = str_fmt("%s/%s", dir, rel);

	return raw ? path_clean(raw) : NULL;
}

char *path_dir(const char *path)
{
	const char *slash = strrchr(path, '/');
	autofree char *raw = NULL;

	if (!slash)
		return path_clean(".");
	raw = str_dup((struct str) { path, (size_t)(slash - path) + 1 });
	return raw ? path_clean(raw) : NULL;
}

struct str path_base(const char *path)
{
	size_t n = strlen(path), start;

	while (n > 1 && path[n - 1] == '/')
		n--;
	for (start = n; start > 0 && path[start - 1] != '/'; start--)
		;
	if (start == n) /* only slashes */
		return (struct str) { path, n };
	return (struct str) { path + start, n - start };
}

int path_resolve(const char *path, const char *home, const char *workdir, char **ret)
{
	char *out;

	if (path[0] == '\0' && workdir)
		path = workdir;
	if (path[0] == '~') {
		if (path[1] != '\0' && path[1] != '/')
			return -EINVAL;
		out = path_join(home, path + 1);
	} else if (path[0] == '/') {
		out = strdup(path);
	} else {
		out = path_join(home, path);
	}
	if (!out)
		return -ENOMEM;
	*ret = out;
	return 0;
}
