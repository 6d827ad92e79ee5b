/* SPDX-License-Identifier: Apache-2.0 */
/* interp_runtime: the program that runs a language. */
#include "init/interp/runtime.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "http/json.h"
#include "init/sysfile.h"

#define MANIFEST_MAX (64 * 1024)
#define ARGV_MAX 32

void runtime_done(struct runtime *r)
{
	free(r->language);
	free(r->user);
	free(r->argv);
	*r = RUNTIME_INIT;
}

static bool name_is(const json_t *name, struct str language)
{
	return json_is_string(name) &&
	    str_ieq((struct str) { json_string_value(name), json_string_length(name) }, language);
}

/* The canonical name, or NULL. */
static const char *canonical(const json_t *languages, struct str language)
{
	const char *name;
	json_t *aliases, *alias;
	size_t i;

	json_object_foreach((json_t *)languages, name, aliases)
	{
		if (str_ieq(str_of(name), language))
			return name;
		json_array_foreach(aliases, i, alias)
		{
			if (name_is(alias, language))
				return name;
		}
	}
	return NULL;
}

static char **copy_argv(const json_t *words)
{
	size_t n = json_array_size(words), bytes = 0;
	char **out, *at;

	if (n == 0 || n > ARGV_MAX)
		return NULL;
	for (size_t i = 0; i < n; i++) {
		if (!json_is_string(json_array_get(words, i)))
			return NULL;
		bytes += json_string_length(json_array_get(words, i)) + 1;
	}
	out = malloc((n + 1) * sizeof(char *) + bytes);
	at = out ? (char *)(out + n + 1) : NULL;
	for (size_t i = 0; out && i < n; i++) {
		size_t len = json_string_length(json_array_get(words, i)) + 1;

		out[i] = memcpy(at, json_string_value(json_array_get(words, i)), len);
		at += len;
	}
	if (out)
		out[n] = NULL;
	return out;
}

int runtime_match(const json_t *manifest, struct str language, struct runtime *ret)
{
	const char *name = canonical(json_object_get(manifest, "languages"), language);
	const char *user = json_string_value(json_object_get(manifest, "user"));

	if (!name)
		return 0;
	*ret = (struct runtime) {
		.language = strdup(name),
		.user = strdup(user ? user : "root"),
		.argv = copy_argv(json_object_get(manifest, "argv")),
		.takes_env = json_is_true(json_object_get(manifest, "takes_env")),
		.takes_reseed = json_is_true(json_object_get(manifest, "takes_reseed")),
		.writes_apart = json_is_true(json_object_get(manifest, "writes_apart")),
		.rehearses = json_is_true(json_object_get(manifest, "rehearses")),
	};
	if (ret->language && ret->user && ret->argv)
		return 1;
	runtime_done(ret);
	return -EINVAL;
}

static json_t *read_manifest(const char *folder)
{
	autofree char *path = str_fmt(RUNTIMES_DIR "/%s/runtime.json", folder);
	size_t n = 0;
	autofree char *text = path ? sysfile_read(path, MANIFEST_MAX, &n) : NULL;
	struct err ignored = ERR_INIT;
	json_t *j = NULL;

	/* A malformed manifest must not make the other runtimes unavailable. */
	if (text)
		(void)json_read_object((struct str) { text, n }, false, &j, &ignored);
	return j;
}

static bool has_all(const json_t *files)
{
	json_t *file;
	size_t i;

	json_array_foreach((json_t *)files, i, file)
	{
		if (!json_is_string(file) || access(json_string_value(file), F_OK) < 0)
			return false;
	}
	return true;
}

/* A language that is only known through a kernel installed for it. */
static int kernel_match(json_t *manifest, struct str language, struct runtime *ret)
{
	json_t *dir;
	size_t i;

	if (language.n == 0 || language.p[0] == '.' || memchr(language.p, '/', language.n))
		return 0;
	json_array_foreach(json_object_get(manifest, "kernels"), i, dir)
	{
		autofree char *path = str_fmt("%s/%.*s/kernel.json", json_is_string(dir) ? json_string_value(dir) : "",
		    STR_ARG(language));
		autofree char *name = str_dup(language);

		if (!path || !name || access(path, F_OK) < 0)
			continue;
		if (json_object_set_new(json_object_get(manifest, "languages"), name, json_array()) == 0)
			return runtime_match(manifest, language, ret);
	}
	return 0;
}

int runtime_find(const char *language, struct runtime *ret, struct err *e)
{
	struct str name = str_trim(str_of(language));
	DIR *dir = opendir(RUNTIMES_DIR);
	struct dirent *d;
	int found = 0;

	while (dir && found != 1 && (d = readdir(dir))) {
		autojson json_t *manifest = d->d_name[0] == '.' ? NULL : read_manifest(d->d_name);

		if (!manifest || !has_all(json_object_get(manifest, "needs")))
			continue;
		found = runtime_match(manifest, name, ret);
		if (found == 0)
			found = kernel_match(manifest, name, ret);
	}
	if (dir)
		(void)closedir(dir);
	return found == 1 ? 0 : err_set(e, ENOENT, "Unsupported language: %.100s", language);
}
