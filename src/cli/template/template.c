/* SPDX-License-Identifier: Apache-2.0 */
/* cli/template/template: keys and builds of templates, by the script templates/build. */
#include "cli/template/template.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/str.h"
#include "cli/child.h"
#include "client/atoll.h"

const char *template_default(void)
{
	const char *z = getenv("E2B_TEMPLATE_ID");

	return z && *z ? z : ATOLL_TEMPLATE_DEFAULT;
}

const char *template_cache(void)
{
	const char *z = getenv("ATOLL_CACHE");

	return z && *z ? z : "/var/cache/atoll";
}

bool template_key_valid(const char *key)
{
	return strlen(key) == TEMPLATE_KEY_LEN && strspn(key, "0123456789abcdef") == TEMPLATE_KEY_LEN;
}

int template_key(const char *build_script, const char *name, char ret[TEMPLATE_KEY_LEN + 1], struct err *e)
{
	const char *argv[] = { build_script, "--key", name, NULL };
	char out[256];
	int status;

	if (child_output(argv, out, sizeof(out), &status, e) < 0)
		return err_wrap(e, "find the key of template '%s'", name);
	out[strcspn(out, "\n")] = '\0';
	if (status != 0 || !template_key_valid(out))
		return err_set(e, EIO, "'%s --key %s' printed no key", build_script, name);
	memcpy(ret, out, TEMPLATE_KEY_LEN + 1);
	return 0;
}

struct job {
	const char *build_script;
	struct template_asked *asked;
	pthread_t thread;
	bool running;
};

static void *find_key(void *arg)
{
	struct job *j = arg;

	(void)template_key(j->build_script, j->asked->name, j->asked->key, &j->asked->e);
	return NULL;
}

void template_keys(const char *build_script, struct template_asked *v, size_t n)
{
	struct job *jobs = calloc(n, sizeof(*jobs));

	for (size_t i = 0; jobs && i < n; i++) {
		jobs[i] = (struct job) { .build_script = build_script, .asked = &v[i] };
		jobs[i].running = pthread_create(&jobs[i].thread, NULL, find_key, &jobs[i]) == 0;
	}
	for (size_t i = 0; i < n; i++) {
		if (jobs && jobs[i].running)
			(void)pthread_join(jobs[i].thread, NULL);
		else
			(void)template_key(build_script, v[i].name, v[i].key, &v[i].e);
	}
	free(jobs);
}

bool template_cached(const char *cache, const char *key)
{
	autofree char *path = str_fmt("%s/templates/%s/rootfs", cache, key);
	struct stat st;

	return path && stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

int template_build(const char *build_script, const char *cache, const char *name, struct err *e)
{
	const char *argv[] = { build_script, "--cache", cache, name, NULL };
	int status;

	/* The script prints the key on standard output, which is discarded. */
	if (cli_child_run(argv, true, &status, e) < 0)
		return err_wrap(e, "build template '%s'", name);
	if (status == 128 + SIGINT || status == 128 + SIGTERM)
		return err_set(e, ECANCELED, "the build of template '%s' was interrupted", name);
	if (status != 0)
		return err_set(e, EIO, "the build of template '%s' failed (see above)", name);
	return 0;
}
