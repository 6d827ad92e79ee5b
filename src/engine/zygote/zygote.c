/* SPDX-License-Identifier: Apache-2.0 */
/* zygote: requests to a template's zygote, by a builder or by the process that maintains it. */
#include "engine/zygote/zygote.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "engine/cgroup/cgroup.h"
#include "engine/engine.h"
#include "engine/holder.h"
#include "engine/proc.h"
#include "engine/zygote/impl.h"

#define END_MS 5000     /* for a killed zygote to exit */
#define FORK_MS 10000   /* the wait runs in parallel with the start; many requests may queue */
#define ANSWER_MS 10000 /* a zygote that is silent for this long hangs */

uint32_t zygote_version(void)
{
	uint32_t h = 2166136261u; /* FNV-1a */

	for (const char *p = join_image; p < join_image_end; p++)
		h = (h ^ (unsigned char)*p) * 16777619u;
	return h;
}

void zygote_name(const struct zygote_config *cfg, const char *key, const char *suffix, char ret[ZYGOTE_NAME_SIZE])
{
	(void)snprintf(ret, ZYGOTE_NAME_SIZE, "%s-%08x%s", key, cfg->version, suffix);
}

socklen_t zygote_address(int dir_fd, const char *name, struct sockaddr_un *ret)
{
	*ret = (struct sockaddr_un) { .sun_family = AF_UNIX };
	(void)snprintf(ret->sun_path, sizeof ret->sun_path, "/proc/self/fd/%d/%s", dir_fd, name);
	return sizeof *ret;
}

void zygote_cgroup(const char *key, char ret[ZYGOTE_NAME_SIZE])
{
	(void)snprintf(ret, ZYGOTE_NAME_SIZE, ZYGOTE_CGROUP "%.16s", key);
}

bool zygote_is_own(int templates_fd, const char *key)
{
	char path[ZYGOTE_NAME_SIZE], text[256];

	(void)snprintf(path, sizeof path, "%s/info", key);
	return file_read(templates_fd, path, text, sizeof text) > 0 && strncmp(text, "name=", 5) == 0;
}

static bool may_have_one(const struct zygote_config *cfg, const char *key)
{
	for (size_t i = 0; i < cfg->n_keys; i++) {
		if (strcmp(cfg->keys[i], key) == 0)
			return true;
	}
	return false;
}

int zygote_connect(const struct zygote_config *cfg, const char *key, int *ret_fd)
{
	char name[ZYGOTE_NAME_SIZE];
	struct sockaddr_un to;

	if (!may_have_one(cfg, key))
		return -ENOENT;
	zygote_name(cfg, key, "", name);
	socklen_t n = zygote_address(cfg->dir_fd, name, &to);
	autoclose int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_PASSCRED, &(int) { 1 }, sizeof(int)) < 0 ||
	    connect(fd, (struct sockaddr *)&to, n) < 0)
		return -errno;
	*ret_fd = take_fd(&fd);
	return 0;
}

/* --- joining, for the builder --------------------------------------------------------------------------------- */

int zygote_ask(int conn, int proc_fd, pid_t pid, int pidfd, int seed_fd)
{
	char path[48];

	(void)snprintf(path, sizeof path, "%d/ns/user", (int)pid);
	autoclose int userns = openat(proc_fd, path, O_RDONLY | O_CLOEXEC);

	(void)snprintf(path, sizeof path, "%d/ns/pid", (int)pid);
	autoclose int pidns = openat(proc_fd, path, O_RDONLY | O_CLOEXEC);

	if (userns < 0 || pidns < 0)
		return -errno;
	ssize_t n = fd_send(conn, "j", 1, (int[]) { userns, pidns, pidfd, seed_fd }, 4);

	return n < 0 ? (int)n : 0;
}

pid_t zygote_sender(int conn, char *ret, size_t size, ssize_t *ret_n)
{
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(struct ucred))];
	struct iovec v = { ret, size };
	struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control };
	struct ucred cred;

	*ret_n = recvmsg(conn, &m, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
	const struct cmsghdr *c = *ret_n > 0 ? CMSG_FIRSTHDR(&m) : NULL;

	if (!c || c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_CREDENTIALS ||
	    c->cmsg_len != CMSG_LEN(sizeof cred))
		return -1;
	memcpy(&cred, CMSG_DATA(c), sizeof cred);
	return cred.pid;
}

int zygote_await(int conn, int pidfd, pid_t *ret_pid, struct err *e)
{
	struct pollfd p[] = { { .fd = conn, .events = POLLIN }, { .fd = pidfd, .events = POLLIN } };
	ssize_t n;
	char c;
	int r;

	while ((r = poll(p, 2, FORK_MS)) < 0 && errno == EINTR)
		;
	if (p[1].revents)
		return err_set(e, ESRCH, "the sandbox has ended");
	if (r <= 0)
		return err_set(e, ETIMEDOUT, "the zygote made no copy within %d ms", FORK_MS);
	*ret_pid = zygote_sender(conn, &c, 1, &n);
	return *ret_pid > 1 ? 0 : err_set(e, EPIPE, "the zygote made no copy");
}

void zygote_go(int conn, uint32_t open_files)
{
	(void)fd_send(conn, &open_files, sizeof open_files, NULL, 0); /* if it has died, init notices too */
}

/* --- maintenance ---------------------------------------------------------------------------------------------- */

bool zygote_answers(const struct zygote_config *cfg, const char *key)
{
	autoclose int conn = -1;
	char c;

	if (zygote_connect(cfg, key, &conn) < 0 || fd_send(conn, "p", 1, NULL, 0) != 1)
		return false;
	struct pollfd p = { .fd = conn, .events = POLLIN };

	return poll(&p, 1, ANSWER_MS) > 0 && recv(conn, &c, 1, MSG_DONTWAIT) == 1;
}

/* Kills it by its record: it may have been moved out of its cgroup, or the cgroup may have been removed. */
static bool end_recorded(const struct zygote_config *cfg, const char *name)
{
	autoclose int pidfd = -1;

	if (proc_record_open(cfg->dir_fd, name, cfg->boot_id, &pidfd) < 0)
		return false;
	(void)proc_kill(pidfd);
	(void)proc_wait_gone(pidfd, END_MS);
	return true;
}

/* Kills a zygote that hangs, one of another version, or one whose maker was killed before it was ready: everything
 * in its cgroup. */
static void end_old(const struct zygote_config *cfg, const char *key)
{
	char id[ZYGOTE_NAME_SIZE];

	if (end_recorded(cfg, key))
		log_warn("replacing a zygote that does not answer", "template=%.8s", key);
	zygote_cgroup(key, id);
	cgroup_end(cfg->cgroups, id);
}

/* Follows no link, and resolves nothing outside the template. Returns 1, 0, or an error: a template that cannot be
 * read may have the script. */
static int has_script(int templates_fd, const char *key, struct err *e)
{
	struct open_how how = {
		.flags = O_PATH | O_CLOEXEC,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV,
	};
	char path[ZYGOTE_NAME_SIZE];

	(void)snprintf(path, sizeof path, "%s/rootfs", key);
	autoclose int root = openat(templates_fd, path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	autoclose int fd = root < 0 ? -1 : (int)syscall(SYS_openat2, root, ZYGOTE_SCRIPT + 1, &how, sizeof how);

	if (root < 0)
		return err_sys(e, "open template '%.8s'", key);
	if (fd < 0 && errno != ENOENT && errno != ENOTDIR && errno != ELOOP && errno != EXDEV)
		return err_sys(e, "look for '%s' in template '%.8s'", ZYGOTE_SCRIPT, key);
	return fd >= 0;
}

/* Whether the zygote is in that user namespace. If the holder was killed, sandboxes are made in another one, over
 * which the zygote has no power. */
static bool is_in(const struct zygote_config *cfg, const char *key, int userns_fd)
{
	struct stat its, ours;
	autoclose int pidfd = -1;
	char path[48];
	pid_t pid;

	if (proc_record_open(cfg->dir_fd, key, cfg->boot_id, &pidfd) < 0 || proc_pid_of(pidfd, &pid) < 0)
		return false;
	(void)snprintf(path, sizeof path, "/proc/%d/ns/user", (int)pid);
	return stat(path, &its) == 0 && fstat(userns_fd, &ours) == 0 && its.st_ino == ours.st_ino &&
	    its.st_dev == ours.st_dev;
}

static bool is_well(const struct zygote_config *cfg, const char *key)
{
	struct holder h = HOLDER_NONE;
	struct err ignored = ERR_INIT;
	bool well = holder_get(cfg->holder, key, &h, &ignored) == 0 && is_in(cfg, key, h.user) &&
	    zygote_answers(cfg, key);

	holder_close(&h);
	return well;
}

int zygote_connect_in(const struct zygote_config *cfg, const char *key, int userns_fd, int *ret_fd)
{
	return may_have_one(cfg, key) && is_in(cfg, key, userns_fd) ? zygote_connect(cfg, key, ret_fd) : -ENOENT;
}

int zygote_ensure(const struct zygote_config *cfg, const char *key, struct err *e)
{
	bool own = may_have_one(cfg, key);
	int has = own ? has_script(cfg->templates_fd, key, e) : 0;

	if (has < 0)
		return has;
	if (has == 0) {
		(void)err_set(e, ENOENT,
		    own ? "the template has no Python runtime" : "it is none of the server's own templates");
		return ENGINE_NEVER;
	}
	if (is_well(cfg, key))
		return 0;
	end_old(cfg, key);
	return zygote_make(cfg, key, e) < 0 ? -e->no : ZYGOTE_MADE;
}

static bool keep_cgroup(const char *id, void *arg)
{
	const struct zygote_config *cfg = arg;
	char own[ZYGOTE_NAME_SIZE];

	for (size_t i = 0; i < cfg->n_keys; i++) {
		zygote_cgroup(cfg->keys[i], own);
		if (strcmp(id, own) == 0)
			return true;
	}
	return false;
}

/* Removes records and sockets of templates that are not in keys, including records being written (".KEY"). */
static void forget_others(const struct zygote_config *cfg)
{
	int fd = openat(cfg->dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);

	for (struct dirent *de; d && (de = readdir(d));) {
		const char *name = de->d_name + (de->d_name[0] == '.');
		bool keep = strcmp(de->d_name, ".") == 0 || strcmp(de->d_name, "..") == 0;

		for (size_t i = 0; !keep && i < cfg->n_keys; i++)
			keep = strncmp(name, cfg->keys[i], strlen(cfg->keys[i])) == 0;
		if (keep)
			continue;
		(void)end_recorded(cfg, de->d_name);
		(void)unlinkat(cfg->dir_fd, de->d_name, 0);
	}
	if (d)
		(void)closedir(d);
}

void zygote_end_others(const struct zygote_config *cfg)
{
	cgroup_keep_only_of(cfg->cgroups, ZYGOTE_CGROUP, keep_cgroup, (void *)(uintptr_t)cfg);
	forget_others(cfg);
}

void zygote_end_all(const struct zygote_config *cfg)
{
	struct zygote_config none = *cfg;

	none.n_keys = 0;
	zygote_end_others(&none);
}
