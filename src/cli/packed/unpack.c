/* SPDX-License-Identifier: Apache-2.0 */
/* cli/packed/unpack: blocks, zstd, tar. */
#include "cli/packed/unpack.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zstd.h>

#include "base/fd.h"
#include "cli/child.h"

static pid_t start_tar(const char *dir, int *ret_fd, struct err *e)
{
	const char *const argv[] = { "tar", "--extract", "--numeric-owner", "--same-owner", "--same-permissions",
		"--xattrs", "--xattrs-include=*", "--delay-directory-restore", "-C", dir, NULL };
	int fds[2];

	if (pipe2(fds, O_CLOEXEC) < 0)
		return err_sys(e, "create a pipe");
	(void)fcntl(fds[1], F_SETPIPE_SZ, 1 << 20);
	pid_t pid = fork();

	if (pid == 0) {
		if (dup2(fds[0], STDIN_FILENO) == STDIN_FILENO)
			(void)execvp(argv[0], (char *const *)argv);
		_exit(127);
	}
	fd_close(fds[0]);
	*ret_fd = fds[1];
	return pid > 0 ? pid : err_sys(e, "fork");
}

/* Verifies a block and writes it to tar. room: stored bytes, then plain bytes. */
static int pass_block(const struct packed_block *b, int blocks, char *stored, char *plain, int to, struct err *e)
{
	char hash[PACKED_HASH_LEN + 1];
	autoclose int fd = openat(blocks, b->hash, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || fd_read_all(fd, stored, b->stored) < 0)
		return err_set(e, EIO, "read block %s", b->hash);
	packed_hash(stored, b->stored, hash);
	if (memcmp(hash, b->hash, PACKED_HASH_LEN) != 0)
		return err_set(e, EBADMSG, "block %s is damaged", b->hash);
	size_t n = ZSTD_decompress(plain, PACKED_BLOCK_MAX, stored, b->stored);

	if (ZSTD_isError(n) || n != b->plain)
		return err_set(e, EBADMSG, "block %s cannot be decompressed", b->hash);
	int r = fd_write_all(to, plain, n);

	return r < 0 ? err_set(e, -r, "tar cannot unpack the template: %s", strerrordesc_np(-r)) : 0;
}

static int pass_blocks(const struct packed *p, int blocks, int to, unpack_told *told, void *user, struct err *e)
{
	autofree char *room = malloc(PACKED_STORED_MAX + PACKED_BLOCK_MAX);
	uint64_t done = 0;

	if (!room)
		return err_set(e, ENOMEM, "out of memory");
	for (size_t i = 0; i < p->n_blocks; i++) {
		if (pass_block(&p->blocks[i], blocks, room, room + PACKED_STORED_MAX, to, e) < 0)
			return -e->no;
		done += p->blocks[i].plain;
		told(user, p, done);
	}
	return 0;
}

static int extract(const struct packed *p, const char *dir, int blocks, unpack_told *told, void *user, struct err *e)
{
	int to = -1, status = 0;
	void (*was)(int) = signal(SIGPIPE, SIG_IGN);
	pid_t pid = start_tar(dir, &to, e);

	if (pid > 0) {
		(void)pass_blocks(p, blocks, to, told, user, e);
		if (e->no)
			(void)kill(pid, SIGKILL);
		fd_close(to);
		while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
			;
		if (e->no == 0 && (!WIFEXITED(status) || WEXITSTATUS(status) != 0))
			(void)err_set(e, EIO, "tar could not unpack the template (see above)");
	}
	(void)signal(SIGPIPE, was);
	return -e->no;
}

/* Everything is on disk before the directory gets its name. Only root may pass it: below lie set-uid programs that
 * users of the host have no business with. */
static int settle(const char *tmp, const char *to, struct err *e)
{
	autoclose int dir = open(tmp, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct stat st;

	if (dir < 0 || fstatat(dir, "rootfs", &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISDIR(st.st_mode))
		return err_set(e, EBADMSG, "the template has no directory 'rootfs'");
	if (fchmod(dir, 0700) < 0 || syncfs(dir) < 0)
		return err_sys(e, "write '%s' to disk", tmp);
	return rename(tmp, to) < 0 ? err_sys(e, "rename '%s' to '%s'", tmp, to) : 0;
}

static void drop(const char *dir)
{
	const char *const argv[] = { "rm", "-rf", "--one-file-system", "--", dir, NULL };
	struct err ignored = ERR_INIT;
	int status;

	(void)cli_child_run(argv, true, &status, &ignored);
}

int packed_tidy(const char *cache, struct err *e)
{
	autofree char *pattern = str_fmt("%s/tmp.*", cache);
	glob_t g;

	if (!pattern)
		return err_set(e, ENOMEM, "out of memory");
	if (glob(pattern, GLOB_NOSORT, NULL, &g) == 0) {
		for (size_t i = 0; i < g.gl_pathc; i++)
			drop(g.gl_pathv[i]);
		globfree(&g);
	}
	return 0;
}

int packed_unpack(const struct packed *p, const char *cache, int blocks, unpack_told *told, void *user, struct err *e)
{
	autofree char *tmp = str_fmt("%s/tmp.%d.XXXXXX", cache, (int)getpid()),
		      *to = str_fmt("%s/templates/%s", cache, p->key);

	if (!tmp || !to)
		return err_set(e, ENOMEM, "out of memory");
	if (!mkdtemp(tmp))
		return err_sys(e, "create '%s'", tmp);
	if (extract(p, tmp, blocks, told, user, e) < 0 || settle(tmp, to, e) < 0)
		drop(tmp);
	return -e->no;
}
