/* SPDX-License-Identifier: Apache-2.0 */
/* build_main: dispatches atoll-build's commands; implements facts and defaults. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/str.h"
#include "http/json.h"
#include "init/build/build.h"
#include "init/init.h"
#include "init/sysfile.h"
#include "init/template.h"
#include "init/users.h"

#define OUT_MAX (1024 * 1024)

/* The merged variables of the sandbox, with PATH and the HOME of root. */
static json_t *environment(const struct init *in)
{
	json_t *o = env_merged(&in->env);

	if (!json_object_get(o, "PATH"))
		(void)json_object_set_new(o, "PATH", json_string(in->path));
	(void)json_object_set_new(o, "HOME", json_string("/root"));
	return o;
}

/* An object with the home of each account. */
static json_t *homes(void)
{
	struct userdb db autousers = { 0 };
	json_t *o = json_object();
	struct str rest;

	userdb_load(&db);
	rest = (struct str) { db.passwd, db.n_passwd };
	while (rest.p && rest.n) {
		struct str line = str_cut(&rest, '\n');
		struct str name = str_cut(&line, ':');
		struct user u;
		autofree char *z = str_dup(name);

		if (z && *z && userdb_find(&db, name, &u) == 0)
			(void)json_object_set_new(o, z, json_string(u.home));
	}
	return o;
}

static int facts(const struct init *in, struct err *e)
{
	autojson json_t *j = template_read();
	autobuf struct buf out = BUF_INIT(OUT_MAX);

	(void)json_object_set_new(j, "env", environment(in));
	(void)json_object_set_new(j, "homes", homes());
	json_put(&out, j);
	if (out.bad)
		return err_set(e, E2BIG, "the environment is too large");
	return fd_write_all(1, out.p, out.n) < 0 ? err_set(e, EPIPE, "nobody reads the facts") : 0;
}

/* Variables set by the parent template stay, unless they are set again. */
static int defaults(const char *text, struct err *e)
{
	autojson json_t *given = NULL, *old = template_read();
	autobuf struct buf out = BUF_INIT(OUT_MAX);
	json_t *env;

	if (json_read_object(str_of(text), false, &given, e) < 0)
		return -e->no;
	env = json_object_get(old, "env");
	if (env && json_object_update_missing(json_object_get(given, "env"), env) < 0)
		return err_set(e, ENOMEM, "out of memory");
	json_put(&out, given);
	buf_ch(&out, '\n');
	(void)mkdir("/etc", 0755);
	(void)mkdir("/etc/atoll", 0755);
	(void)unlink(TEMPLATE_FILE);
	autoclose int fd = open(TEMPLATE_FILE, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);

	if (fd < 0 || out.bad || fd_write_all(fd, out.p, out.n) < 0)
		return err_sys(e, "write '" TEMPLATE_FILE "'");
	return 0;
}

static int workdir(const char *dir, const char *user, struct err *e)
{
	struct owner o;

	return build_owner(user, &o, e) < 0 ? -e->no : build_mkdirs(dir, &o, e);
}

static int run(const struct init *in, int argc, char **argv, struct err *e)
{
	const char *cmd = argc > 0 ? argv[0] : "";

	if (strcmp(cmd, "facts") == 0 && argc == 1)
		return facts(in, e);
	if (strcmp(cmd, "provision") == 0 && argc == 1)
		return build_provision(e);
	if (strcmp(cmd, "user") == 0 && (argc == 2 || argc == 3))
		return build_add_user(argv[1], argc == 3 && strcmp(argv[2], "true") == 0, e);
	if (strcmp(cmd, "workdir") == 0 && argc == 3)
		return workdir(argv[1], argv[2], e);
	if (strcmp(cmd, "copy") == 0 && argc == 7)
		return build_copy(&(struct copy_args) { argv[1], argv[2], argv[3], argv[4], argv[5], argv[6] }, e);
	if (strcmp(cmd, "defaults") == 0 && argc == 2)
		return defaults(argv[1], e);
	if (strcmp(cmd, "start") == 0 && argc == 2)
		return build_start(in, (unsigned)strtoul(argv[1], NULL, 10), e);
	return err_set(e, EINVAL, "'%s' is no command of the builder", cmd);
}

int build_main(const struct init *in, int argc, char **argv)
{
	struct err e = ERR_INIT;

	(void)umask(022);
	if (run(in, argc, argv, &e) == 0)
		return 0;
	(void)fd_write_all(2, e.text, strlen(e.text));
	return 1;
}
