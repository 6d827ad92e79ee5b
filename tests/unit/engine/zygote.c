/* SPDX-License-Identifier: Apache-2.0 */
/* Where there is no zygote: who asks is told so at once, and neither a template without Python nor a user's image ever
 * gets one. */
#include "engine/zygote/zygote.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/fd.h"
#include "engine/caps_kept.h"
#include "engine/engine.h"
#include "engine/powers.h"
#include "engine/zygote/impl.h"
#include "unit.h"

#define KEY "0123456789abcdef0123456789abcdef"
#define IMAGE "fedcba9876543210fedcba9876543210"

static const char *const keys[] = { KEY };

static struct zygote_config config(char dir[32])
{
	(void)snprintf(dir, 32, "/tmp/unit-zygote-XXXXXX");
	assert_non_null(mkdtemp(dir));
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	assert_true(fd >= 0);
	return (struct zygote_config) { .dir_fd = fd,
		.templates_fd = fd,
		.keys = keys,
		.n_keys = 1,
		.boot_id = "-",
		.version = zygote_version() };
}

static void done(struct zygote_config *cfg, const char *dir)
{
	char remove[64];

	close(cfg->dir_fd);
	(void)snprintf(remove, sizeof remove, "rm -r %s", dir);
	assert_int_equal(system(remove), 0);
}

static void a_template_without_python_has_none(void **state)
{
	char dir[32];
	struct zygote_config cfg = config(dir);
	struct err e = ERR_INIT;
	int fd;

	(void)state;
	/* H5: one that is not there, or cannot be looked at, is another matter: it may be tried again. */
	assert_int_equal(zygote_ensure(&cfg, KEY, &e), -ENOENT);
	assert_non_null(strstr(e.text, "open template"));
	assert_int_equal(mkdirat(cfg.templates_fd, KEY, 0700), 0);
	assert_int_equal(mkdirat(cfg.templates_fd, KEY "/rootfs", 0755), 0);
	assert_int_equal(zygote_ensure(&cfg, KEY, &e), ENGINE_NEVER);
	assert_int_equal(zygote_connect(&cfg, KEY, &fd), -ENOENT);
	assert_false(zygote_answers(&cfg, KEY));
	done(&cfg, dir);
}

/* templates/KEY as a build or a pull leaves it. */
static void put_template(int dir, const char *key, const char *info)
{
	char path[128];

	assert_int_equal(mkdirat(dir, key, 0700), 0);
	(void)snprintf(path, sizeof path, "%s/rootfs", key);
	assert_int_equal(mkdirat(dir, path, 0755), 0);
	(void)snprintf(path, sizeof path, "%s/info", key);
	int fd = openat(dir, path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

	assert_true(fd >= 0 && dprintf(fd, "%s\n", info) > 0);
	close(fd);
}

/* W2: what decides is beside the root, where nothing of an image is, and what the warden was started with. */
static void an_image_of_a_user_has_none(void **state)
{
	char dir[32], name[ZYGOTE_NAME_SIZE];
	struct zygote_config cfg = config(dir);
	struct sockaddr_un at;
	struct err e = ERR_INIT;
	int fd, listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	(void)state;
	put_template(cfg.templates_fd, KEY, "name=base");
	put_template(cfg.templates_fd, IMAGE, "image=docker.io/library/evil:1");
	assert_true(zygote_is_own(cfg.templates_fd, KEY));
	assert_false(zygote_is_own(cfg.templates_fd, IMAGE));
	assert_false(zygote_is_own(cfg.templates_fd, "none"));
	assert_int_equal(zygote_ensure(&cfg, IMAGE, &e), ENGINE_NEVER);
	assert_non_null(strstr(e.text, "own templates"));
	/* Not even if one is there, of an older version. */
	zygote_name(&cfg, IMAGE, "", name);
	socklen_t n = zygote_address(cfg.dir_fd, name, &at);

	assert_int_equal(bind(listener, (struct sockaddr *)&at, n), 0);
	assert_int_equal(listen(listener, 1), 0);
	assert_int_equal(zygote_connect(&cfg, IMAGE, &fd), -ENOENT);
	close(listener);
	done(&cfg, dir);
}

/* W2 */
static void no_link_of_a_template_is_followed(void **state)
{
	char dir[32], outside[64];
	struct zygote_config cfg = config(dir);
	struct err e = ERR_INIT;

	(void)state;
	put_template(cfg.templates_fd, KEY, "name=base");
	(void)snprintf(outside, sizeof outside, "mkdir -p %s/out/atoll/runtimes/python", dir);
	assert_int_equal(system(outside), 0);
	close(openat(cfg.templates_fd, "out/atoll/runtimes/python/zygote.py", O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
	assert_int_equal(symlinkat("../../out", cfg.templates_fd, KEY "/rootfs/opt"), 0);
	assert_int_equal(faccessat(cfg.templates_fd, KEY "/rootfs" ZYGOTE_SCRIPT, F_OK, 0), 0);
	assert_int_equal(zygote_ensure(&cfg, KEY, &e), ENGINE_NEVER);
	done(&cfg, dir);
}

/* W2 */
static void more_power_than_a_sandbox_is_seen(void **state)
{
	char text[128];

	(void)state;
	(void)snprintf(text, sizeof text, "Name:\tx\nCapEff:\t0\nCapBnd:\t%016llx\nCapAmb:\t0\n",
	    (unsigned long long)CAPS_KEPT);
	assert_true(powers_within(text));
	(void)snprintf(text, sizeof text, "Name:\tx\nCapBnd:\t%016llx\n",
	    (unsigned long long)(CAPS_KEPT | CAPS_BIT(CAP_SYS_ADMIN)));
	assert_false(powers_within(text));
	assert_true(powers_within("Name:\tx\nCapBnd:\t0000000000000000\n"));
	assert_false(powers_within("Name:\tCapBnd:\t0\n"));
	assert_false(powers_within(""));
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
		cmocka_unit_test(an_image_of_a_user_has_none),
		cmocka_unit_test(no_link_of_a_template_is_followed),
		cmocka_unit_test(more_power_than_a_sandbox_is_seen),
		cmocka_unit_test(a_socket_that_nobody_serves_is_none),
		cmocka_unit_test(the_end_of_the_sandbox_ends_the_wait),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
