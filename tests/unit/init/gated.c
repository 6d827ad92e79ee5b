/* SPDX-License-Identifier: Apache-2.0 */
/* The program atoll-init behind its gate, outside of a sandbox. Its path is the first argument. */
#include "unit.h"

#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "base/fd.h"
#include "base/preamble.h"

#define TOKEN_FD 5
#define LISTEN_FD 6

static const char *program;
static const uint8_t token[PREAMBLE_TOKEN] = "0123456789abcdef0123456789abcde";

static pid_t start(struct sockaddr_in *ret_at)
{
	socklen_t n = sizeof *ret_at;
	int l = socket(AF_INET, SOCK_STREAM, 0), t = memfd_create("token", 0);

	*ret_at = (struct sockaddr_in) { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	assert_int_equal(bind(l, (struct sockaddr *)ret_at, n), 0);
	assert_int_equal(listen(l, 64), 0);
	assert_int_equal(getsockname(l, (struct sockaddr *)ret_at, &n), 0);
	assert_int_equal(fd_write_all(t, token, sizeof token), 0);
	assert_int_equal(lseek(t, 0, SEEK_SET), 0);

	pid_t pid = fork();

	if (pid == 0) {
		int far_l = dup2(l, 21), far_t = dup2(t, 20); /* out of the way */

		if (dup2(far_t, TOKEN_FD) < 0 || dup2(far_l, LISTEN_FD) < 0)
			_exit(1);
		(void)execle(program, "atoll-init", (char *)NULL,
		    (char *[]) { "ATOLL_TOKEN_FD=5", "ATOLL_LISTEN_FD=6", "ATOLL_INIT_TEST=1", NULL });
		_exit(1);
	}
	fd_close(l);
	fd_close(t);
	return pid;
}

/* The status of the answer, 0: none. */
static int ask(const struct sockaddr_in *at, bool prove, const char *request)
{
	char got[4096] = "";
	uint8_t head[PREAMBLE_SIZE];
	autoclose int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int status = 0;

	assert_int_equal(connect(fd, (const struct sockaddr *)at, sizeof *at), 0);
	preamble_write(&(struct preamble) { PREAMBLE_API, 0 }, token, head);
	if (prove)
		assert_int_equal(fd_write_all(fd, head, sizeof head), 0);
	assert_int_equal(send(fd, request, strlen(request), MSG_NOSIGNAL), (ssize_t)strlen(request));
	if (recv(fd, got, sizeof got - 1, 0) > 0)
		(void)sscanf(got, "HTTP/1.1 %d", &status);
	return status;
}

static void the_api_is_behind_the_gate(void **state)
{
	struct sockaddr_in at;
	pid_t pid = start(&at);
	char path[64], text[4096];
	int status;

	(void)state;
	assert_true(pid > 0);
	assert_int_equal(ask(&at, true, "GET /health HTTP/1.1\r\nHost: x\r\n\r\n"), 204);
	assert_int_equal(ask(&at, true, "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"), 200);
	assert_int_equal(ask(&at, false, "GET /health HTTP/1.1\r\nHost: x\r\nPad: 0123456789\r\n\r\n"), 0);
	(void)snprintf(path, sizeof path, "/proc/%d/fd/%d", pid, TOKEN_FD);
	assert_int_equal(readlink(path, text, sizeof text), -1); /* the token is closed */
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(the_api_is_behind_the_gate) };

	if (argc < 2)
		return 2;
	program = argv[1];
	return cmocka_run_group_tests(tests, NULL, NULL);
}
