/* SPDX-License-Identifier: Apache-2.0 */
/* Where there is no zygote: who asks is told so at once, and a template without Python never gets one. */
#include "engine/zygote.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/fd.h"
#include "engine/zygote_impl.h"

#define KEY "0123456789abcdef0123456789abcdef"

static struct zygote_config config(char dir[32])
{
	(void)snprintf(dir, 32, "/tmp/unit-zygote-XXXXXX");
	assert_non_null(mkdtemp(dir));
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	assert_true(fd >= 0);
	return (struct zygote_config) { .dir_fd = fd, .templates_fd = fd, .boot_id = "-", .version = zygote_version() };
}

static void done(struct zygote_config *cfg, const char *dir)
{
	zygote_forget_all(cfg);
	close(cfg->dir_fd);
	assert_int_equal(rmdir(dir), 0);
}

static void a_template_without_python_has_none(void **state)
{
	char dir[32];
	struct zygote_config cfg = config(dir);
	struct err e = ERR_INIT;
	int fd;

	(void)state;
	assert_int_equal(zygote_ensure(&cfg, KEY, 0, &e), -ENOENT);
	assert_int_equal(zygote_connect(&cfg, KEY, &fd), -ENOENT);
	assert_false(zygote_answers(&cfg, KEY));
	done(&cfg, dir);
}

static void a_socket_that_nobody_serves_is_none(void **state)
{
	char dir[32], name[ZYGOTE_NAME_SIZE];
	struct zygote_config cfg = config(dir);
	struct sockaddr_un at;
	int fd, listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	(void)state;
	zygote_name(&cfg, KEY, "", name);
	socklen_t n = zygote_address(cfg.dir_fd, name, &at);

	assert_int_equal(bind(listener, (struct sockaddr *)&at, n), 0);
	assert_int_equal(listen(listener, 1), 0);
	assert_int_equal(zygote_connect(&cfg, KEY, &fd), 0);
	close(fd);
	/* Of another version of the daemon: not to be talked to. */
	cfg.version++;
	assert_int_equal(zygote_connect(&cfg, KEY, &fd), -ENOENT);
	cfg.version--;
	close(listener);
	assert_int_equal(zygote_connect(&cfg, KEY, &fd), -ECONNREFUSED);
	done(&cfg, dir);
}

static void the_end_of_the_sandbox_ends_the_wait(void **state)
{
	struct err e = ERR_INIT;
	int conn[2], end[2];
	pid_t pid;

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, conn), 0);
	assert_int_equal(pipe2(end, O_CLOEXEC), 0);
	assert_int_equal(write(end[1], "x", 1), 1);
	assert_int_equal(zygote_await(conn[0], end[0], &pid, &e), -ESRCH);
	close(end[0]);
	close(end[1]);
	/* Nor is anything without a sender taken for a copy. */
	assert_int_equal(write(conn[1], "h", 1), 1);
	assert_int_equal(zygote_await(conn[0], -1, &pid, &e), -EPIPE);
	close(conn[1]);
	assert_int_equal(zygote_await(conn[0], -1, &pid, &e), -EPIPE);
	close(conn[0]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_template_without_python_has_none),
		cmocka_unit_test(a_socket_that_nobody_serves_is_none),
		cmocka_unit_test(the_end_of_the_sandbox_ends_the_wait),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
