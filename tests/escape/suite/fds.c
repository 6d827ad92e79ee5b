/* SPDX-License-Identifier: Apache-2.0 */
/* fds: descriptors, working directories and programs that lead out (the class of CVE-2024-21626 and CVE-2016-9962). */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "attempt.h"

struct look {
	int processes, looked;
	char bad[160];
};

/* A path is of ours if it leads, from our root, to what the link leads to. */
static bool same_here(const char *link, const char *target)
{
	struct stat by_link, by_path;

	if (stat(link, &by_link) < 0)
		return true; /* gone meanwhile, or not to be looked at */
	if (lstat(target, &by_path) < 0)
		return false;
	return by_link.st_dev == by_path.st_dev && by_link.st_ino == by_path.st_ino;
}

static bool fine(const char *link, const char *target, bool directories)
{
	static const char *const kinds[] = { "pipe:[", "socket:[", "anon_inode:", "/memfd:" };
	struct stat st;

	for (size_t i = 0; i < COUNT(kinds); i++) {
		if (strncmp(target, kinds[i], strlen(kinds[i])) == 0)
			return true;
	}
	if (strstr(target, "(unreachable)"))
		return false;
	if (strstr(target, " (deleted)")) /* of its own disk, unless it is a directory to climb from */
		return stat(link, &st) < 0 || !S_ISDIR(st.st_mode) || directories;
	return same_here(link, target);
}

static int check_fds(int pid, void *user)
{
	struct look *l = user;
	char dir[64], link[400], target[4200];
	DIR *d;
	struct dirent *de;

	l->processes++;
	(void)snprintf(dir, sizeof dir, "/proc/%d/fd", pid);
	d = opendir(dir);
	if (!d)
		return 0; /* not ours to look into */
	while ((de = readdir(d)) != NULL && !l->bad[0]) {
		(void)snprintf(link, sizeof link, "%s/%s", dir, de->d_name);
		ssize_t n = de->d_name[0] == '.' ? -1 : readlink(link, target, sizeof target - 1);

		if (n < 0)
			continue;
		target[n] = '\0';
		l->looked++;
		if (!fine(link, target, false))
			(void)snprintf(l->bad, sizeof l->bad, "%s leads to %.100s", link, target);
	}
	closedir(d);
	return l->bad[0] != '\0';
}

static int all_fds(void)
{
	struct look l = { 0 };

	(void)each_process(check_fds, &l);
	if (l.bad[0])
		return broken("%s", l.bad);
	return l.looked > 3 ? held("%d descriptors of %d processes", l.looked, l.processes)
			    : unclear("only %d descriptors seen", l.looked);
}

static int check_link(int pid, void *user, const char *which)
{
	struct look *l = user;
	char link[64], target[4200];

	(void)snprintf(link, sizeof link, "/proc/%d/%s", pid, which);
	ssize_t n = readlink(link, target, sizeof target - 1);

	if (n < 0)
		return 0;
	target[n] = '\0';
	l->looked++;
	if (!fine(link, target, true))
		(void)snprintf(l->bad, sizeof l->bad, "%s leads to %.100s", link, target);
	return l->bad[0] != '\0';
}

static int check_cwd(int pid, void *user)
{
	return check_link(pid, user, "cwd");
}
static int check_root(int pid, void *user)
{
	return check_link(pid, user, "root");
}
static int check_exe(int pid, void *user)
{
	return check_link(pid, user, "exe");
}

static int links_of_all(int (*check)(int, void *))
{
	struct look l = { 0 };

	(void)each_process(check, &l);
	if (l.bad[0])
		return broken("%s", l.bad);
	return l.looked ? held("%d looked at", l.looked) : unclear("none could be looked at");
}

static int all_cwds(void)
{
	return links_of_all(check_cwd);
}
static int all_roots(void)
{
	return links_of_all(check_root);
}
static int all_programs(void)
{
	return links_of_all(check_exe);
}

/* A mapping of a file that no path of ours leads to is the memory of the warm interpreter, which all copies share:
 * private, and without the name of a place on the host. */
static int check_maps(int pid, void *user)
{
	struct look *l = user;
	static char text[1 << 20];
	char path[64];

	(void)snprintf(path, sizeof path, "/proc/%d/maps", pid);
	if (slurp(path, text, sizeof text) <= 0)
		return 0;
	for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
		char *file = strchr(line, '/'), *rights = strchr(line, ' ');

		l->looked++;
		if (!file || !rights || strstr(file, "(deleted)") || strncmp(file, "/memfd:", 7) == 0 ||
		    strncmp(file, "/SYSV", 5) == 0 || access(file, F_OK) == 0 || errno != ENOENT)
			continue;
		if (rights[4] == 'p' && strncmp(file, "/.bases/", 8) == 0)
			continue;
		(void)snprintf(l->bad, sizeof l->bad, "process %d maps %.4s %.100s", pid, rights + 1, file);
		return 1;
	}
	return 0;
}

static int all_maps(void)
{
	return links_of_all(check_maps);
}

/* A mapped file is one step from a descriptor of it: the links of /proc/PID/map_files, which follow to no path. */
static int reopen_maps(int pid, void *user)
{
	struct look *l = user;
	char dir[64], link[400];
	struct dirent *de;
	DIR *d;

	(void)snprintf(dir, sizeof dir, "/proc/%d/map_files", pid);
	d = opendir(dir);
	while (d && (de = readdir(d)) != NULL && !l->bad[0]) {
		if (de->d_name[0] == '.')
			continue;
		(void)snprintf(link, sizeof link, "%s/%s", dir, de->d_name);
		l->looked++;
		int fd = open(link, l->looked % 2 ? O_RDONLY : O_WRONLY);

		if (fd >= 0) {
			(void)snprintf(l->bad, sizeof l->bad, "%s opened", link);
			close(fd);
		}
	}
	if (d)
		closedir(d);
	return l->bad[0] != '\0';
}

static int all_map_files(void)
{
	return links_of_all(reopen_maps);
}

/* What a command gets: three streams, and nothing else. The runner starts us as it starts any command. */
static int inherited(void)
{
	for (int fd = 3; fd < 1024; fd++) {
		char link[64], target[300];

		(void)snprintf(link, sizeof link, "/proc/%d/fd/%d", getppid(), fd);
		ssize_t n = readlink(link, target, sizeof target - 1);

		if (n < 0)
			continue;
		target[n] = '\0';
		if (strncmp(target, "pipe:", 5) != 0) /* the one that this attempt answers by */
			return broken("descriptor %d: %s", fd, target);
	}
	return held("0, 1 and 2 only");
}

/* The trick of CVE-2024-21626: a working directory that is outside. */
static int by_number(void)
{
	char path[64];
	struct stat st;

	for (int fd = 3; fd < 64; fd++) {
		(void)snprintf(path, sizeof path, "/proc/self/fd/%d/../../../../../../etc/shadow", fd);
		if (stat(path, &st) == 0) {
			struct stat own;

			if (stat("/etc/shadow", &own) < 0 || own.st_ino != st.st_ino || own.st_dev != st.st_dev)
				return broken("%s is another one", path);
		}
	}
	return held("no number leads out");
}

static int cwd_unreachable(void)
{
	char here[4200];

	if (syscall(SYS_getcwd, here, sizeof here) < 0)
		return unclear("getcwd: %s", errno_name(errno));
	return here[0] == '/' ? held("%.100s", here) : broken("%.100s", here);
}

static int steal(void)
{
	int pidfd = (int)syscall(SYS_pidfd_open, 1, 0);

	if (pidfd < 0)
		return unclear("pidfd_open: %s", errno_name(errno));
	for (int fd = 0; fd < 32; fd++) {
		if (syscall(SYS_pidfd_getfd, pidfd, fd, 0) >= 0)
			return broken("descriptor %d of pid 1", fd);
		if (errno != EPERM)
			return -errno;
	}
	return -EPERM;
}

static const char leak[] = "no descriptor, directory or program of the host is left in any process";
static const char pid1[] = "pid 1, which is the server's, cannot be looked into or changed";

static const struct attempt attempts[] = {
	{ "fds/of-all-processes", leak, all_fds },
	{ "fds/inherited", leak, inherited },
	{ "fds/working-directories", leak, all_cwds },
	{ "fds/roots", leak, all_roots },
	{ "fds/programs", leak, all_programs },
	{ "fds/mappings", leak, all_maps },
	{ "fds/reopen-mappings", leak, all_map_files },
	{ "fds/climb-by-number", leak, by_number },
	{ "fds/unreachable-directory", leak, cwd_unreachable },
	{ "fds/steal-from-pid1", pid1, steal, .expect = { EPERM } },
};
GROUP(fds, "fds");
