/* SPDX-License-Identifier: Apache-2.0 */
/* meta: key=value metadata of a file, stored as extended attributes. */
#include "init/files/meta.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>

#include "base/fd.h"
#include "http/json.h"
#include "http/server.h"

#define HEADER_PREFIX "x-metadata-"
#define LIST_MAX 65536 /* XATTR_LIST_MAX */

static bool printable(struct str s)
{
	for (size_t i = 0; i < s.n; i++)
		if (s.p[i] < 0x20 || s.p[i] > 0x7e)
			return false;
	return true;
}

int meta_from_headers(const struct http_headers *h, json_t **ret, struct err *e)
{
	autojson json_t *set = json_object();
	size_t total = 0, skip = strlen(HEADER_PREFIX);

	for (size_t i = 0; i < h->n; i++) {
		struct str name = h->v[i].name, value = h->v[i].value;
		char key[META_KEY_MAX + 1];

		if (name.n <= skip || !str_ieq((struct str) { name.p, skip }, STR_LIT(HEADER_PREFIX)))
			continue;
		str_skip(&name, skip);
		if (!str_copy(key, sizeof(key), name))
			return err_set(e, EINVAL, "invalid metadata: metadata key '%.60s...' exceeds %d bytes", name.p,
			    META_KEY_MAX);
		for (char *p = key; *p; p++)
			*p = *p >= 'A' && *p <= 'Z' ? (char)(*p - 'A' + 'a') : *p;
		if (!printable(name) || !printable(value))
			return err_set(e, EINVAL, "invalid metadata: key '%.60s' or its value is not printable ASCII",
			    key);
		if (json_object_get(set, key))
			continue; /* of several headers with this key, the first counts */
		total += strlen(META_PREFIX) + name.n + value.n;
		(void)json_object_set_new(set, key, json_stringn(value.n ? value.p : "", value.n));
	}
	if (total > META_TOTAL_MAX)
		return err_set(e, EINVAL, "invalid metadata: total metadata size %zu exceeds %d bytes", total,
		    META_TOTAL_MAX);
	*ret = json_incref(set);
	return 0;
}

/* Advances to the next name with our prefix in a listxattr() result; false at the end. */
static bool next_name(const char **at, const char *end, const char **ret)
{
	while (*at < end) {
		const char *name = *at;

		*at += strlen(name) + 1;
		if (strncmp(name, META_PREFIX, strlen(META_PREFIX)) == 0) {
			*ret = name;
			return true;
		}
	}
	return false;
}

json_t *meta_read(const char *path)
{
	char few[1024], value[META_TOTAL_MAX * 2];
	autofree char *many = NULL;
	char *names = few;
	ssize_t n = listxattr(path, few, sizeof(few));
	json_t *set = NULL;
	const char *at, *name;

	if (n < 0 && errno == ERANGE) {
		names = many = malloc(LIST_MAX);
		n = many ? listxattr(path, many, LIST_MAX) : -1;
	}
	if (n <= 0)
		return NULL;
	for (at = names; next_name(&at, names + n, &name);) {
		ssize_t len = getxattr(path, name, value, sizeof(value));
		json_t *v = len < 0 ? NULL : json_stringn(value, (size_t)len);

		/* Programs inside may have set it to any bytes: a value that is not UTF-8 is left out. */
		if (!v)
			continue;
		if (!set)
			set = json_object();
		(void)json_object_set_new(set, name + strlen(META_PREFIX), v);
	}
	return set;
}

int meta_write(int fd, const json_t *set)
{
	autofree char *names = NULL;
	ssize_t n = flistxattr(fd, NULL, 0);
	const char *at, *name;
	json_t *value;

	if (n < 0)
		return -errno;
	if (n > 0) {
		names = malloc(LIST_MAX);
		n = names ? flistxattr(fd, names, LIST_MAX) : 0;
	}
	for (at = names; n > 0 && next_name(&at, names + n, &name);) {
		if (json_object_get(set, name + strlen(META_PREFIX)))
			continue;
		if (fremovexattr(fd, name) < 0 && errno != ENODATA)
			return -errno;
	}
	json_object_foreach((json_t *)set, name, value)
	{
		char full[256];

		(void)snprintf(full, sizeof(full), "%s%s", META_PREFIX, name);
		if (fsetxattr(fd, full, json_string_value(value), json_string_length(value), 0) < 0)
			return -errno;
	}
	return 0;
}
