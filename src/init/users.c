/* SPDX-License-Identifier: Apache-2.0 */
/* users: the accounts of the sandbox, from its /etc/passwd and /etc/group. */
#include "init/users.h"

#include <errno.h>
#include <stdlib.h>

#include "init/sysfile.h"

#define USERS_FILE_MAX (1024 * 1024)
#define ID_MAX 0xfffffffeu /* -1 means "leave unchanged" to the kernel */

void userdb_load(struct userdb *ret)
{
	ret->passwd = sysfile_read("/etc/passwd", USERS_FILE_MAX, &ret->n_passwd);
	ret->group = sysfile_read("/etc/group", USERS_FILE_MAX, &ret->n_group);
}

void userdb_done(struct userdb *db)
{
	free(db->passwd);
	free(db->group);
	*db = (struct userdb) { 0 };
}

/* Splits a line into n fields separated by colons; false if it has fewer. */
static bool fields(struct str line, struct str *f, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (!line.p)
			return false;
		f[i] = str_cut(&line, ':');
	}
	return true;
}

static bool parse_passwd(struct str line, struct user *ret)
{
	struct str f[7];
	uint64_t uid, gid;

	if (line.n == 0 || line.p[0] == '#' || memchr(line.p, '\0', line.n) || !fields(line, f, 7))
		return false;
	if (f[0].n == 0 || str_to_u64(f[2], ID_MAX, &uid) < 0 || str_to_u64(f[3], ID_MAX, &gid) < 0)
		return false;
	if (!str_copy(ret->name, sizeof(ret->name), f[0]) || !str_copy(ret->home, sizeof(ret->home), f[5]) ||
	    !str_copy(ret->shell, sizeof(ret->shell), f[6]))
		return false;
	if (ret->home[0] != '/')
		(void)str_copy(ret->home, sizeof(ret->home), STR_LIT("/"));
	if (ret->shell[0] != '/')
		(void)str_copy(ret->shell, sizeof(ret->shell), STR_LIT("/bin/sh"));
	ret->uid = (uid_t)uid;
	ret->gid = (gid_t)gid;
	return true;
}

static bool next_line(struct str *text, struct str *ret)
{
	if (!text->p)
		return false;
	*ret = str_cut(text, '\n');
	return true;
}

int userdb_find(const struct userdb *db, struct str name, struct user *ret)
{
	struct str text = { db->passwd, db->n_passwd }, line;
	struct user u;

	while (next_line(&text, &line)) {
		if (parse_passwd(line, &u) && str_is(name, u.name)) {
			*ret = u;
			return 0;
		}
	}
	return -ENOENT;
}

bool userdb_uid_name(const struct userdb *db, uid_t uid, struct str *ret)
{
	struct str text = { db->passwd, db->n_passwd }, line, f[3];
	uint64_t id;

	while (next_line(&text, &line)) {
		if (!fields(line, f, 3) || f[0].n == 0 || str_to_u64(f[2], ID_MAX, &id) < 0 || id != uid)
			continue;
		*ret = f[0];
		return true;
	}
	return false;
}

bool userdb_gid_name(const struct userdb *db, gid_t gid, struct str *ret)
{
	struct str text = { db->group, db->n_group }, line, f[3];
	uint64_t id;

	while (next_line(&text, &line)) {
		if (!fields(line, f, 3) || f[0].n == 0 || str_to_u64(f[2], ID_MAX, &id) < 0 || id != gid)
			continue;
		*ret = f[0];
		return true;
	}
	return false;
}

static bool lists_member(struct str members, const char *name)
{
	while (members.p) {
		if (str_is(str_cut(&members, ','), name))
			return true;
	}
	return false;
}

size_t userdb_groups(const struct userdb *db, const struct user *u, gid_t *ret, size_t max)
{
	struct str text = { db->group, db->n_group }, line, f[4];
	size_t n = 0;
	uint64_t id;

	if (max == 0)
		return 0;
	ret[n++] = u->gid;
	while (n < max && next_line(&text, &line)) {
		if (!fields(line, f, 4) || str_to_u64(f[2], ID_MAX, &id) < 0 || id == u->gid)
			continue;
		if (lists_member(f[3], u->name))
			ret[n++] = (gid_t)id;
	}
	return n;
}
