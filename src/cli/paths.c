/* SPDX-License-Identifier: Apache-2.0 */
/* cli/paths: where the other programs and the templates are, and the directories of an instance. */
#include "cli/paths.h"

#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/str.h"
#include "cli/settings.h"

void paths_done(struct paths *p)
{
	free(p->atolld);
	free(p->front);
	free(p->init);
	free(p->egress);
	free(p->agent);
	free(p->build_script);
	*p = (struct paths) { NULL };
}

static int own_dir(char dir[PATH_MAX], struct err *e)
{
	ssize_t n = readlink("/proc/self/exe", dir, PATH_MAX - 1);

	if (n < 0)
		return err_sys(e, "find this program's own path");
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
	if (set(&p->atolld, dir, built ? "../warden/atolld" : "../libexec/atoll/atolld", e) < 0 ||
	    set(&p->front, dir, built ? "../front/atoll-front" : "../libexec/atoll/atoll-front", e) < 0 ||
	    set(&p->init, dir, built ? "../init/atoll-init" : "../libexec/atoll/atoll-init", e) < 0 ||
	    set(&p->egress, dir, built ? "../egress/atoll-egress" : "../libexec/atoll/atoll-egress", e) < 0 ||
	    set(&p->agent, dir, built ? "../agent/atoll-agent" : "../libexec/atoll/atoll-agent", e) < 0)
		return -e->no;
	return 0;
}

int paths_check(const struct paths *p, struct err *e)
{
	const char *const all[] = { p->atolld, p->front, p->init, p->egress, p->agent, p->build_script };

	for (size_t i = 0; i < ARRAY_LEN(all); i++) {
		if (access(all[i], X_OK) < 0)
			return err_sys(e, "'%s' cannot be run (is atoll fully built and installed?)", all[i]);
	}
	return 0;
}

static int find_templates(struct paths *p, const char *dir, bool built, struct err *e)
{
	const char *given = getenv("ATOLL_TEMPLATES");

	if (given && *given)
		return set(&p->build_script, given, "build", e);
	if (built)
		return set(&p->build_script, ATOLL_SOURCE_DIR, "templates/build", e);
	return set(&p->build_script, dir, "../libexec/atoll/templates/build", e);
}

int paths_find(struct paths *ret, struct err *e)
{
	autopaths struct paths p = { NULL };
	autofree char *mark = NULL;
	char dir[PATH_MAX];

	if (own_dir(dir, e) < 0)
		return -e->no;
	/* Only a build tree has the folder of the warden's sources beside ours. */
	mark = str_fmt("%s/../warden", dir);
	bool built = mark && access(mark, F_OK) == 0;
	if (find_programs(&p, dir, built, e) < 0 || find_templates(&p, dir, built, e) < 0)
		return -e->no;
	*ret = p;
	p = (struct paths) { NULL };
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

	return set(ret, dir, built ? "../../tests/escape/suite" : "../share/atoll/escape", e);
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
	uint32_t hash = 2166136261u;	/* FNV-1a: a name, not a secret */

	while (s.n > 1 && s.p[s.n - 1] == '/')
		s.n--;
	if (str_is(s, STATE_DIR_DEFAULT))
		return str_dup(STR_LIT("/run/atoll/main"));
	for (size_t i = 0; i < s.n; i++)
		hash = (hash ^ (unsigned char)s.p[i]) * 16777619u;
	return str_fmt("/run/atoll/%08x", hash);
}
