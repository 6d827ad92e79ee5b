/* SPDX-License-Identifier: Apache-2.0 */
/* build_user: adds accounts in the sandbox of a build. It writes what useradd would, because an image may lack
 * useradd. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/str.h"
#include "init/build/build.h"
#include "init/users.h"

#define FIRST_UID 1000
#define LAST_UID 60000
#define NAME_MAX_ 32
#define PROFILE_MAX (16 * 1024)
#define ID_LAST 65535 /* the highest id that a sandbox has */

static bool is_number(const char *z)
{
	return *z && strspn(z, "0123456789") == strlen(z);
}

static int find_gid(const struct userdb *db, const char *name, gid_t *ret)
{
	struct str rest = { db->group, db->n_group };
	uint64_t gid;

	while (rest.p && rest.n) {
		struct str line = str_cut(&rest, '\n');

		if (!str_is(str_cut(&line, ':'), name))
			continue;
		(void)str_cut(&line, ':');
		if (str_to_u64(str_cut(&line, ':'), UINT32_MAX - 1, &gid) < 0)
			continue;
		*ret = (gid_t)gid;
		return 0;
	}
	return -ENOENT;
}

int build_owner(const char *text, struct owner *ret, struct err *e)
{
	struct userdb db autousers = { 0 };
	struct str rest = str_of(text), name = str_cut(&rest, ':');
	autofree char *user = str_dup(name), *group = rest.p ? str_dup(rest) : NULL;
	struct user u = { 0 };

	userdb_load(&db);
	if (user && is_number(user) && strlen(user) < 10) {
		u.uid = (uid_t)strtoul(user, NULL, 10);
		u.gid = u.uid;
	} else if (!user || userdb_find(&db, name, &u) < 0) {
		return err_set(e, ENOENT, "there is no user '%s'", user ? user : "");
	}
	ret->uid = u.uid;
	ret->gid = u.gid;
	if (!group || !*group || strcmp(group, user) == 0)
		return 0;
	if (is_number(group) && strlen(group) < 10)
		ret->gid = (gid_t)strtoul(group, NULL, 10);
	else if (find_gid(&db, group, &ret->gid) < 0)
		return err_set(e, ENOENT, "there is no group '%s'", group);
	return 0;
}

int build_mkdirs(const char *path, const struct owner *o, struct err *e)
{
	autofree char *z = str_dup(str_of(path));

	if (!z)
		return err_set(e, ENOMEM, "out of memory");
	for (char *p = z + 1;; p++) {
		if (*p != '/' && *p != '\0')
			continue;
		char was = *p;
		struct stat st;

		*p = '\0';
		if (mkdir(z, 0755) == 0) {
			if (lchown(z, o->uid, o->gid) < 0)
				return err_sys(e, "give '%s' to its owner", z);
		} else if (errno != EEXIST) {
			return err_sys(e, "make the directory '%s'", z);
		} else if (stat(z, &st) < 0 || !S_ISDIR(st.st_mode)) {
			return err_set(e, ENOTDIR, "'%s' is not a directory", z);
		}
		if (!was)
			return 0;
		*p = was;
	}
}

/* --- new accounts ------------------------------------------------------------------------------------------------ */

static int append(const char *path, mode_t mode, const char *line, struct err *e)
{
	autoclose int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, mode);
	char last = '\n';
	off_t end = fd < 0 ? -1 : lseek(fd, 0, SEEK_END);

	if (fd < 0 || end < 0)
		return err_sys(e, "open '%s'", path);
	if (end > 0 && pread(fd, &last, 1, end - 1) != 1)
		return err_sys(e, "read '%s'", path);
	if ((last != '\n' && fd_write_all(fd, "\n", 1) < 0) || fd_write_all(fd, line, strlen(line)) < 0)
		return err_sys(e, "write '%s'", path);
	return 0;
}

static bool name_ok(const char *name)
{
	size_t n = strlen(name);

	return n > 0 && n <= NAME_MAX_ && (strchr("abcdefghijklmnopqrstuvwxyz_", name[0]) != NULL) &&
	    strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.") == n;
}

static int free_id(const struct userdb *db, uid_t *ret)
{
	for (uid_t id = FIRST_UID; id <= LAST_UID; id++) {
		struct str name;

		if (userdb_uid_name(db, id, &name) || userdb_gid_name(db, id, &name))
			continue;
		*ret = id;
		return 0;
	}
	return -ENOSPC;
}

static void copy_file(const char *from, const char *to, const struct owner *o)
{
	autoclose int in = open(from, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	autoclose int out = in < 0 ? -1 : open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644);
	char room[8192];
	ssize_t n;

	while (out >= 0 && (n = read(in, room, sizeof room)) > 0) {
		if (fd_write_all(out, room, (size_t)n) < 0)
			return;
	}
	if (out >= 0 && fchown(out, o->uid, o->gid) < 0)
		(void)unlink(to);
}

static int make_home(const char *home, const struct owner *o, struct err *e)
{
	static const char *const files[] = { ".bashrc", ".profile", ".bash_logout" };
	struct owner root = { 0, 0 };
	struct stat st;

	if (lstat(home, &st) == 0)
		return 0;
	if (build_mkdirs("/home", &root, e) < 0 || build_mkdirs(home, o, e) < 0)
		return -e->no;
	for (size_t i = 0; i < ARRAY_LEN(files); i++) {
		autofree char *from = str_fmt("/etc/skel/%s", files[i]), *to = str_fmt("%s/%s", home, files[i]);

		if (from && to)
			copy_file(from, to, o);
	}
	return 0;
}

/* USER 1000: adds an account named after its id. If an account with this id exists, the new one shares its home,
 * group and shell. */
static int add_number(const struct userdb *db, const char *number, struct err *e)
{
	uint64_t id;
	struct str name;
	struct user u;

	if (str_to_u64(str_of(number), ID_LAST, &id) < 0)
		return err_set(e, EINVAL, "'%.40s' cannot be the number of a user: a sandbox has those up to %d",
		    number, ID_LAST);
	bool known = userdb_uid_name(db, (uid_t)id, &name) && userdb_find(db, name, &u) == 0;
	autofree char *home = known ? strdup(u.home) : str_fmt("/home/%s", number);
	autofree char *line = str_fmt("%s:x:%u:%u::%s:%s\n", number, (unsigned)id,
	    known ? (unsigned)u.gid : (unsigned)id, home ? home : "/", known ? u.shell : "/bin/bash");
	struct owner o = { (uid_t)id, (gid_t)id };

	if (!home || !line)
		return err_set(e, ENOMEM, "out of memory");
	if (append("/etc/passwd", 0644, line, e) < 0)
		return -e->no;
	return known ? 0 : make_home(home, &o, e);
}

static int add_account(const struct userdb *db, const char *name, struct err *e)
{
	uid_t id;

	if (is_number(name))
		return add_number(db, name, e);
	if (!name_ok(name))
		return err_set(e, EINVAL, "'%.40s' cannot be the name of a user", name);
	if (free_id(db, &id) < 0)
		return err_set(e, ENOSPC, "there is no number left for the user '%s'", name);
	autofree char *home = str_fmt("/home/%s", name);
	autofree char *passwd = str_fmt("%s:x:%u:%u::%s:/bin/bash\n", name, id, id, home);
	autofree char *group = str_fmt("%s:x:%u:\n", name, id);
	autofree char *shadow = str_fmt("%s:!:19000:0:99999:7:::\n", name);
	struct owner o = { id, id };

	if (!home || !passwd || !group || !shadow)
		return err_set(e, ENOMEM, "out of memory");
	if (append("/etc/group", 0644, group, e) < 0 || append("/etc/passwd", 0644, passwd, e) < 0 ||
	    append("/etc/shadow", 0640, shadow, e) < 0)
		return -e->no;
	return make_home(home, &o, e);
}

static int allow_sudo(const char *name, struct err *e)
{
	autofree char *path = str_fmt("/etc/sudoers.d/%s", name),
		      *line = str_fmt("%s ALL=(ALL:ALL) NOPASSWD: ALL\n", name);
	struct owner root = { 0, 0 };

	if (!path || !line)
		return err_set(e, ENOMEM, "out of memory");
	if (build_mkdirs("/etc/sudoers.d", &root, e) < 0)
		return -e->no;
	(void)unlink(path);
	return append(path, 0440, line, e);
}

int build_add_user(const char *name, bool sudo, struct err *e)
{
	struct userdb db autousers = { 0 };
	struct user u;

	userdb_load(&db);
	if (userdb_find(&db, str_of(name), &u) < 0 && add_account(&db, name, e) < 0)
		return -e->no;
	return sudo ? allow_sudo(name, e) : 0;
}

/* Commands are run by login shells, and those of Debian and Alpine reset PATH, which loses the image's own.
 * Changes /etc/profile so that login shells keep the PATH they are given. */
static int keep_path(struct err *e)
{
	static const char before[] = "atoll_path=$PATH\n", after[] = "PATH=${atoll_path:-$PATH}; unset atoll_path\n";
	autoclose int fd = open("/etc/profile", O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	autobuf struct buf out = BUF_INIT(2 * PROFILE_MAX);
	char text[PROFILE_MAX];
	ssize_t n = fd < 0 ? -1 : pread(fd, text, sizeof text, 0);
	struct str rest = { text, n > 0 ? (size_t)n : 0 };
	bool done = false;

	if (rest.n == 0 || rest.n == sizeof text || memmem(text, rest.n, "atoll_path", strlen("atoll_path")))
		return 0;
	buf_z(&out, before);
	while (rest.p && rest.n) {
		struct str line = str_cut(&rest, '\n');

		buf_str(&out, line);
		buf_ch(&out, '\n');
		if (!done && str_starts(line, "export PATH")) {
			buf_z(&out, after);
			done = true;
		}
	}
	if (!done || out.bad)
		return 0;
	if (ftruncate(fd, 0) < 0 || lseek(fd, 0, SEEK_SET) < 0 || fd_write_all(fd, out.p, out.n) < 0)
		return err_sys(e, "write '/etc/profile'");
	return 0;
}

/* Does what the image allows: programs that it lacks are not added. */
int build_provision(struct err *e)
{
	static const char *const open_dirs[] = { "/code", "/workspace" };
	struct owner root = { 0, 0 };

	if (build_mkdirs("/etc", &root, e) < 0 || build_mkdirs("/root", &root, e) < 0 ||
	    build_mkdirs("/tmp", &root, e) < 0)
		return -e->no;
	(void)chmod("/tmp", 01777);
	struct userdb db autousers = { 0 };
	struct user u;

	userdb_load(&db);
	if (userdb_find(&db, STR_LIT("root"), &u) < 0 &&
	    (append("/etc/group", 0644, "root:x:0:\n", e) < 0 ||
		append("/etc/passwd", 0644, "root:x:0:0:root:/root:/bin/bash\n", e) < 0))
		return -e->no;
	if (build_add_user("user", true, e) < 0 || keep_path(e) < 0)
		return -e->no;
	for (size_t i = 0; i < ARRAY_LEN(open_dirs); i++) {
		(void)mkdir(open_dirs[i], 0777);
		(void)chmod(open_dirs[i], 0777);
	}
	return 0;
}
