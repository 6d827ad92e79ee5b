/* SPDX-License-Identifier: Apache-2.0 */
/* env: the variables that every process of the sandbox starts with. */
#include "init/env.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "http/json.h"
#include "init/sysfile.h"
#include "init/template.h"
#include "init/users.h"

#define TEMPLATE_ENV "/etc/atoll/env"
#define TEMPLATE_ENV_MAX (256 * 1024)

int env_init(struct env *v)
{
	v->trust = json_object();
	v->template_vars = json_object();
	v->given = json_object();
	v->fixed = json_object();
	if (!v->trust || !v->template_vars || !v->given || !v->fixed) {
		env_done(v);
		return -ENOMEM;
	}
	env_fix(v, "E2B_SANDBOX", "true");
	env_read_template(v);
	return 0;
}

void env_done(struct env *v)
{
	json_decref(v->trust);
	json_decref(v->template_vars);
	json_decref(v->given);
	json_decref(v->fixed);
	*v = (struct env) { 0 };
}

static bool name_ok(const char *name)
{
	return name[0] != '\0' && !strchr(name, '=');
}

void env_parse(struct str text, json_t *into)
{
	while (text.p) {
		struct str line = str_trim(str_cut(&text, '\n'));
		autofree char *z = NULL;
		char *eq;

		if (line.n && line.p[line.n - 1] == '\r')
			line.n--;
		if (line.n == 0 || line.p[0] == '#' || memchr(line.p, '\0', line.n))
			continue;
		z = str_dup(line);
		eq = z ? strchr(z, '=') : NULL;
		if (!eq || eq == z)
			continue;
		*eq = '\0';
		(void)json_object_set_new(into, z, json_string(eq + 1)); /* left out if not UTF-8 */
	}
}

void env_read_template(struct env *v)
{
	size_t n;
	autofree char *text = sysfile_read(TEMPLATE_ENV, TEMPLATE_ENV_MAX, &n);

	(void)json_object_clear(v->template_vars);
	if (text)
		env_parse((struct str) { text, n }, v->template_vars);
	autojson json_t *built = template_read();

	(void)json_object_update(v->template_vars, json_object_get(built, "env"));
}

void env_give(struct env *v, json_t *vars)
{
	(void)json_object_clear(v->given);
	(void)json_object_update(v->given, vars);
}

void env_fix(struct env *v, const char *name, const char *value)
{
	(void)json_object_set_new(v->fixed, name, json_string(value));
}

const char *env_find(const struct env *v, const char *name)
{
	const json_t *layers[] = { v->fixed, v->given, v->template_vars };

	for (size_t i = 0; i < ARRAY_LEN(layers); i++) {
		const char *value = json_string_value(json_object_get(layers[i], name));

		if (value)
			return value;
	}
	return NULL;
}

json_t *env_merged(const struct env *v)
{
	json_t *all = json_object();

	(void)json_object_update(all, v->template_vars);
	(void)json_object_update(all, v->trust);
	(void)json_object_update(all, v->given);
	(void)json_object_update(all, v->fixed);
	return all;
}

bool env_read_at_start(const struct env *v)
{
	/* Read by the loader and the allocator, by interpreters, and by libraries that size their thread pools
	 * when loaded. */
	static const char *const heads[] = {
		"LD_",
		"GLIBC_",
		"MALLOC_",
		"PYTHON",
		"IPYTHON",
		"NODE_",
		"MPL",
		"OMP_",
		"GOMP_",
		"OPENBLAS_",
		"MKL_",
		"NUMEXPR_",
	};
	const char *name;
	json_t *value;

	json_object_foreach(v->given, name, value)
	{
		for (size_t i = 0; i < ARRAY_LEN(heads); i++) {
			if (strncmp(name, heads[i], strlen(heads[i])) == 0)
				return true;
		}
	}
	return false;
}

int env_check(const json_t *vars, const char *field, struct err *e)
{
	const char *name;
	json_t *value;

	if (json_check_str_map(vars, field, e) < 0)
		return -EINVAL;
	json_object_foreach((json_t *)vars, name, value)
	{
		if (!name_ok(name))
			return err_set(e, EINVAL, "field '%s' has a name that is empty or holds '='", field);
	}
	return 0;
}

char **env_build(const struct env *v, const struct user *u, const char *path, const json_t *extra)
{
	autojson json_t *all = json_object();
	autojson json_t *merged = env_merged(v);
	size_t n, bytes = 0, i = 0;
	const char *name;
	json_t *value;
	char **out, *at;

	(void)json_object_set_new_nocheck(all, "PATH", json_string_nocheck(path));
	(void)json_object_set_new_nocheck(all, "HOME", json_string_nocheck(u->home));
	(void)json_object_set_new_nocheck(all, "USER", json_string_nocheck(u->name));
	(void)json_object_set_new_nocheck(all, "LOGNAME", json_string_nocheck(u->name));
	(void)json_object_set_new_nocheck(all, "SHELL", json_string_nocheck(u->shell));
	if (!all || json_object_update(all, merged) < 0 || (extra && json_object_update(all, (json_t *)extra) < 0))
		return NULL;
	n = json_object_size(all);
	json_object_foreach(all, name, value) bytes += strlen(name) + json_string_length(value) + 2;
	out = malloc((n + 1) * sizeof(char *) + bytes);
	if (!out)
		return NULL;
	at = (char *)(out + n + 1);
	json_object_foreach(all, name, value)
	{
		size_t len = strlen(name), vlen = json_string_length(value);

		out[i++] = at;
		memcpy(at, name, len);
		at[len] = '=';
		memcpy(at + len + 1, json_string_value(value), vlen + 1);
		at += len + vlen + 2;
	}
	out[i] = NULL;
	return out;
}
