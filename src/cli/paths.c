/* SPDX-License-Identifier: Apache-2.0 */
/* cli/paths: locates the other programs, the templates and the directories of an instance. */
#include "cli/paths.h"

#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/str.h"
#include "cli/settings.h"

static const struct {
	const char *name, *folder; /* folder: where its sources are */
} programs[N_PROGRAMS] = {
	[PROGRAM_ATOLLD] = { "atolld", "warden" },
	[PROGRAM_FRONT] = { "atoll-front", "front" },
	[PROGRAM_INIT] = { "atoll-init", "init" },
	[PROGRAM_EGRESS] = { "atoll-egress", "egress" },
	[PROGRAM_AGENT] = { "atoll-agent", "agent" },
	[PROGRAM_REFUSALS] = { "atoll-refusals", "refusals" },
	[PROGRAM_WEBHOOKS] = { "atoll-webhooks", "webhooks" },
	[PROGRAM_OIDC] = { "atoll-oidc", "oidc" },
	[PROGRAM_PULL] = { "atoll-pull", "oci" },
};

const char *program_name(enum program which)
{
	return programs[which].name;
}

void paths_done(struct paths *p)
{
	for (size_t i = 0; i < N_PROGRAMS; i++)
		free(p->program[i]);
	free(p->build_script);
	free(p->engines);
	*p = (struct paths) { 0 };
}

static int own_dir(char dir[PATH_MAX], struct err *e)
{
	ssize_t n = readlink("/proc/self/exe", dir, PATH_MAX - 1);

	if (n < 0)
		return err_sys(e, "find the path of this program");
	dir[n] = '\0';
	*strrchr(dir, '/') = '\0';
	return 0;
}

static int set(char **to, const char *dir, const char *tail, struct err *e)
{
	*to = str_fmt("%s/%s", dir, tail);
	return *to ? 0 : err_set(e, ENOMEM, "out of memory");
}

static int find_programs(struct paths *p, const char *dir, bool built, struct err *e)
{
	for (size_t i = 0; i < N_PROGRAMS; i++) {
		autofree char *tail = built ? str_fmt("../%s/%s", programs[i].folder, programs[i].name)
					    : str_fmt("../libexec/atoll/%s", programs[i].name);

		if (!tail || set(&p->program[i], dir, tail, e) < 0)
			return err_set(e, ENOMEM, "out of memory");
	}
	return 0;
}

static int check_runs(const char *path, struct err *e)
{
	return access(path, X_OK) < 0
	    ? err_sys(e, "'%s' cannot be executed (is atoll fully built and installed?)", path)
	    : 0;
}

int paths_check(const struct paths *p, struct err *e)
{
	for (size_t i = 0; i < N_PROGRAMS; i++) {
		if (check_runs(p->program[i], e) < 0)
			return -e->no;
	}
	return check_runs(p->build_script, e);
}

/* In a build tree, a file beside this program contains the path of the sources. */
static int find_sources(const char *dir, char ret[PATH_MAX], struct err *e)
{
	autofree char *path = str_fmt("%s/source-dir", dir);
	FILE *f = path ? fopen(path, "re") : NULL;
	bool got = f && fgets(ret, PATH_MAX, f);

	if (f)
		(void)fclose(f);
	if (!got || ret[0] != '/')
		return err_set(e, ENOENT, "read '%s/source-dir', which the build writes", dir);
	ret[strcspn(ret, "\n")] = '\0';
	return 0;
}

static int find_templates(struct paths *p, const char *dir, bool built, struct err *e)
{
	const char *given = getenv("ATOLL_TEMPLATES");
	char sources[PATH_MAX];

	if (given && *given) {
		autofree char *path = path_absolute(given); /* the build runs in another directory */

		return path ? set(&p->build_script, path, "build", e)
			    : err_set(e, ENOENT, "find '%s' in ATOLL_TEMPLATES", given);
	}
	if (built)
		return find_sources(dir, sources, e) < 0 ? -e->no
							 : set(&p->build_script, sources, "templates/build", e);
	return set(&p->build_script, dir, "../libexec/atoll/templates/build", e);
}

static int find_engines(struct paths *p, const char *dir, bool built, struct err *e)
{
	char sources[PATH_MAX];

	if (built)
		return find_sources(dir, sources, e) < 0 ? -e->no : set(&p->engines, sources, "engines", e);
	return set(&p->engines, dir, "../libexec/atoll/engines", e);
}

int paths_find(struct paths *ret, struct err *e)
{
	autopaths struct paths p = { 0 };
	autofree char *mark = NULL;
	char dir[PATH_MAX];

	if (own_dir(dir, e) < 0)
		return -e->no;
	/* Only a build tree has the warden's directory beside ours. */
	mark = str_fmt("%s/../warden", dir);
	bool built = mark && access(mark, F_OK) == 0;
	if (find_programs(&p, dir, built, e) < 0 || find_templates(&p, dir, built, e) < 0 ||
	    find_engines(&p, dir, built, e) < 0)
		return -e->no;
	*ret = p;
	p = (struct paths) { 0 };
	return 0;
}

int path_find_suite(char **ret, struct err *e)
{
	autofree char *mark = NULL;
	char dir[PATH_MAX];

	if (own_dir(dir, e) < 0)
		return -e->no;
	mark = str_fmt("%s/../warden", dir);
	bool built = mark && access(mark, F_OK) == 0;

	return set(ret, dir, built ? "../../tests/escape/suite" : "../libexec/atoll/escape", e);
}

char *path_absolute(const char *path)
{
	autofree char *here = NULL;

	if (path[0] == '/')
		return str_dup(str_of(path));
	here = getcwd(NULL, 0);
	return here ? str_fmt("%s/%s", here, path) : NULL;
}

char *path_run_dir(const char *state)
{
	struct str s = str_of(state);
	uint32_t hash = 2166136261u; /* FNV-1a; not a secret, only a unique name */

	while (s.n > 1 && s.p[s.n - 1] == '/')
		s.n--;
	if (str_is(s, STATE_DIR_DEFAULT))
		return str_dup(STR_LIT("/run/atoll/main"));
	for (size_t i = 0; i < s.n; i++)
		hash = (hash ^ (unsigned char)s.p[i]) * 16777619u;
	return str_fmt("/run/atoll/%08x", hash);
}
