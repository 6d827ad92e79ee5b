/* SPDX-License-Identifier: Apache-2.0 */
/* oci/recipe: mmdebstrap without privileges. */
#include "oci/recipe.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/str.h"
#include "engine/caps.h"
#include "engine/disk/tree.h"
#include "engine/mounts.h"
#include "engine/userns.h"

#define DIR "build"
#define PLACE_INSIDE "/mnt" /* mount point: any directory that exists on every Debian */

int recipe_check(const char *recipe, struct err *e)
{
	struct str rest = str_of(recipe);

	for (bool suite = true; rest.p; suite = false) {
		struct str word = str_cut(&rest, ',');

		if (word.n == 0 || word.n > 100 ||
		    !((word.p[0] >= 'a' && word.p[0] <= 'z') || (word.p[0] >= '0' && word.p[0] <= '9')))
			return err_set(e, EINVAL, "'%.80s' is not a recipe: SUITE[,PACKAGE]...", recipe);
		for (size_t i = 1; i < word.n; i++) {
			char c = word.p[i];

			if (!(c >= 'a' && c <= 'z') && !(c >= '0' && c <= '9') && c != '-' &&
			    (suite || !strchr("+.", c)))
				return err_set(e, EINVAL, "'%.*s' is not the name of a %s", STR_ARG(word),
				    suite ? "suite" : "package");
		}
	}
	return 0;
}

_Noreturn static void child_main(int keeper, int out, const char *recipe)
{
	char suite[128], include[4200] = "--include=";
	const char *packages = strchr(recipe, ',');
	int mnt = -1;
	size_t n_fds = 0;
	struct err e = ERR_INIT;
	char c;

	/* The id map has been written when this message arrives. */
	if (fd_recv(keeper, &c, 1, &mnt, 1, &n_fds) != 1 || n_fds != 1 || caps_become(0, 0, &e) < 0)
		_exit(1);
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	if (mount_make_private(&e) < 0 || syscall(SYS_mount, "proc", "/proc", "proc", 0, NULL) < 0 ||
	    mount_put(mnt, AT_FDCWD, PLACE_INSIDE, &e) < 0) {
		(void)fprintf(stderr, "atoll-pull: make a place for mmdebstrap: %s\n", e.no ? e.text : strerror(errno));
		_exit(1);
	}
	(void)str_copy(suite, sizeof suite,
	    (struct str) { recipe, packages ? (size_t)(packages - recipe) : strlen(recipe) });
	(void)snprintf(include + strlen(include), sizeof include - strlen(include), "%s", packages ? packages + 1 : "");
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);

	if (null < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(out, STDOUT_FILENO) < 0 || chdir("/") < 0 ||
	    setenv("TMPDIR", PLACE_INSIDE, 1) < 0 || setenv("LC_ALL", "C", 1) < 0)
		_exit(1);
	(void)execlp("mmdebstrap", "mmdebstrap", "--mode=root", "--variant=minbase", "--format=tar", "--quiet",
	    packages ? include : "--include=ca-certificates", suite, "-", (char *)NULL);
	perror("atoll-pull: start mmdebstrap");
	_exit(1);
}

/* Makes a directory owned by the namespace's root and returns it as a mount, because that uid cannot traverse its
 * parents. */
static int make_place(struct place *p, int *ret_fd, struct err *e)
{
	uid_t owner = PLACE_UID_APPLY + p->slot * PULL_IDS;

	if (mkdirat(p->dir_fd, DIR, 0755) < 0 || fchownat(p->dir_fd, DIR, owner, owner, AT_SYMLINK_NOFOLLOW) < 0)
		return err_sys(e, "make a directory for mmdebstrap");
	return mount_clone(p->dir_fd, DIR, 0, ret_fd, e);
}

int recipe_start(struct place *p, const char *recipe, int *ret_fd, pid_t *ret_pid, struct err *e)
{
	autoclose int pidfd = -1, mnt = -1;
	int sock[2], out[2];

	if (make_place(p, &mnt, e) < 0)
		return -e->no;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sock) < 0 || pipe2(out, O_CLOEXEC) < 0)
		return err_sys(e, "make a socket pair");
	pid_t pid = userns_fork(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS, -1, &pidfd);

	if (pid == 0) {
		int keep[] = { sock[1], out[1] };
		sigset_t none;

		fd_close_others(keep, ARRAY_LEN(keep));
		(void)sigemptyset(&none);
		(void)sigprocmask(SIG_SETMASK, &none, NULL);
		child_main(sock[1], out[1], recipe);
	}
	(void)close(sock[1]);
	(void)close(out[1]);
	*ret_fd = out[0];
	autoclose int own = sock[0];
	if (pid < 0)
		return err_set(e, -pid, "make namespaces: %s", strerror(-pid));
	*ret_pid = pid;
	if (userns_map(pid, PLACE_UID_APPLY + p->slot * PULL_IDS, PULL_IDS, e) < 0)
		return -e->no;
	return fd_send(own, "r", 1, &mnt, 1) < 0 ? err_set(e, EPIPE, "mmdebstrap could not be started") : 0;
}

int recipe_end(struct place *p, pid_t *pid, struct err *e)
{
	int status = 0;

	while (waitpid(*pid, &status, 0) < 0 && errno == EINTR)
		;
	*pid = 0;
	(void)tree_remove(p->dir_fd, DIR);
	return status == 0 ? 0 : err_set(e, EIO, "mmdebstrap could not make it; why stands in its output");
}
