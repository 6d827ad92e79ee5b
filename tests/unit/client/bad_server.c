/* SPDX-License-Identifier: Apache-2.0 */
/* Servers that misbehave, and callers that do: a defined error each time, and no secret in its text.
 *
 * The server is a thread that answers each connection with the same bytes, whatever is asked, and closes it. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../slow_names.h"
#include "client/client.h"
#include "http/connect.h"
#include "unit.h"

#define KEY "e2b_a_very_secret_key"
#define TOKEN "a-very-secret-token"
#define CREATED \
	"HTTP/1.1 201 Created\r\nConnection: " \
	"close\r\n\r\n{\"sandboxID\":\"i0123456789abcdef\",\"envdAccessToken\":\"" TOKEN "\"}"

struct bad {
	int listener;
	pthread_t thread;
	pthread_mutex_t lock;
	struct str says;
	size_t flood;    /* more bytes after that */
	int delay_ms;    /* before it closes */
	char seen[4096]; /* the last request's head */
	unsigned calls;
};

static struct bad the = { .lock = PTHREAD_MUTEX_INITIALIZER };
static struct atoll *a;
static struct atoll_sandbox *sb;
static struct atoll_error e;

static void answer(int fd)
{
	static const char zeroes[65536];
	char seen[sizeof(the.seen)];
	ssize_t n = recv(fd, seen, sizeof(seen) - 1, 0);

	(void)pthread_mutex_lock(&the.lock);
	struct str says = the.says;
	size_t flood = the.flood;
	int delay = the.delay_ms;

	if (n > 0) {
		seen[n] = '\0';
		memcpy(the.seen, seen, (size_t)n + 1);
		the.calls++;
	}
	(void)pthread_mutex_unlock(&the.lock);
	(void)send(fd, says.p, says.n, MSG_NOSIGNAL);
	while (flood > 0) {
		ssize_t w = send(fd, zeroes, flood < sizeof(zeroes) ? flood : sizeof(zeroes), MSG_NOSIGNAL);

		if (w <= 0)
			break;
		flood -= (size_t)w;
	}
	(void)poll(NULL, 0, delay);
	(void)shutdown(fd, SHUT_WR);
	/* What is left unread would make a reset of it, which takes the answer with it. */
	struct pollfd rest = { .fd = fd, .events = POLLIN };
	while (poll(&rest, 1, 100) == 1 && recv(fd, seen, sizeof(seen), 0) > 0)
		;
	(void)close(fd);
}

static void *serve(void *arg)
{
	int fd;

	(void)arg;
	while ((fd = accept4(the.listener, NULL, NULL, SOCK_CLOEXEC)) >= 0)
		answer(fd);
	return NULL;
}

static void says_n(const char *p, size_t n)
{
	(void)pthread_mutex_lock(&the.lock);
	the.says = (struct str) { p, n };
	the.flood = 0;
	the.delay_ms = 0;
	the.calls = 0;
	(void)pthread_mutex_unlock(&the.lock);
}

static void says(const char *text)
{
	says_n(text, strlen(text));
}

static int begin(void **state)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t n = sizeof(at);
	char url[64];

	(void)state;
	the.listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (bind(the.listener, (struct sockaddr *)&at, n) < 0 || listen(the.listener, 16) < 0 ||
	    getsockname(the.listener, (struct sockaddr *)&at, &n) < 0 ||
	    pthread_create(&the.thread, NULL, serve, NULL) != 0)
		return -1;
	(void)snprintf(url, sizeof(url), "http://127.0.0.1:%u", ntohs(at.sin_port));
	if (atoll_new(&(struct atoll_config) { .api_url = url, .api_key = KEY, .no_env = true }, &a, &e) < 0)
		return -1;
	says(CREATED);
	return atoll_sandbox_create(a, NULL, &sb, &e);
}

static int end(void **state)
{
	(void)state;
	atoll_sandbox_close(&sb);
	atoll_sandbox_close(&sb);
	atoll_close(&a);
	atoll_close(&a);
	atoll_close(NULL);
	(void)shutdown(the.listener, SHUT_RDWR);
	(void)pthread_join(the.thread, NULL);
	return close(the.listener);
}

static void no_secrets(void)
{
	assert_null(strstr(e.text, KEY));
	assert_null(strstr(e.text, TOKEN));
	assert_null(strchr(e.text, '\n'));
}

static int run(void)
{
	struct atoll_execution *x = NULL;
	int rc = atoll_run_code(sb, &(struct atoll_code) { .code = "1", .timeout_ms = 5000 }, NULL, &x, &e);

	no_secrets();
	if (rc < 0)
		assert_null(x);
	atoll_execution_free(x);
	return rc;
}

static int command(void)
{
	struct atoll_output *o = NULL;
	int rc = atoll_command_run(sb, &(struct atoll_command) { .line = "x", .timeout_ms = 5000 }, NULL, NULL, &o, &e);

	no_secrets();
	atoll_output_free(o);
	return rc;
}

#define OK "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"

static void code_that_breaks_off(void **state)
{
	(void)state;
	says(OK "24\r\n{\"type\":\"stdout\",\"text\":\"half a li");
	assert_int_equal(run(), -ECONNRESET);
	/* a clean end of the stream, but not of the code */
	says(OK "26\r\n{\"type\":\"stdout\",\"text\":\"and no end\"}\n\r\n0\r\n\r\n");
	assert_int_equal(run(), -ECONNRESET);
	says("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"type\":");
	assert_int_equal(run(), -ECONNRESET);
	says("");
	assert_int_equal(run(), -ECONNRESET);
	says(OK "9\r\nnot json\n\r\n0\r\n\r\n");
	assert_int_equal(run(), -EPROTO);
	says(OK "zz\r\n");
	assert_true(run() < 0);
	says("SSH-2.0-OpenSSH_9\r\n");
	assert_true(run() < 0);
	says("HTTP/1.1 404 Not Found\r\nContent-Length: 19\r\n\r\nContext x not found");
	assert_int_equal(run(), -ENOENT);
	assert_string_equal(e.text, "Context x not found (404)");
}

static void commands_that_break_off(void **state)
{
	static const char broken[] = OK "8\r\n\0\0\0\0\x50"
					"abc\r\n";
	static const char huge[] = OK "5\r\n\0\xff\xff\xff\xff\r\n0\r\n\r\n";
	static const char compressed[] = OK "7\r\n\1\0\0\0\2{}\r\n0\r\n\r\n";
	static const char early[] = OK "7\r\n\2\0\0\0\2{}\r\n0\r\n\r\n";

	(void)state;
	says_n(broken, sizeof(broken) - 1);
	assert_int_equal(command(), -ECONNRESET);
	says_n(huge, sizeof(huge) - 1);
	assert_int_equal(command(), -EPROTO);
	says_n(compressed, sizeof(compressed) - 1);
	assert_int_equal(command(), -EPROTO);
	says_n(early, sizeof(early) - 1);
	assert_int_equal(command(), -ECONNRESET);
	says("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nhtml");
	assert_true(command() < 0);
}

static void a_process_that_breaks_off(void **state)
{
	static const char started[] = OK "25\r\n\0\0\0\0\x20{\"event\":{\"start\":{\"pid\":4321}}}\r\n";
	struct atoll_process *p = NULL;
	int rc;

	(void)state;
	says_n(started, sizeof(started) - 1);
	assert_int_equal(atoll_process_start(sb, &(struct atoll_command) { .line = "x" }, NULL, NULL, &p, &e), 0);
	while ((rc = atoll_process_poll(p, NULL, 0, 1000, &e)) == 0)
		;
	assert_true(rc < 0);
	no_secrets();
	assert_null(atoll_process_exit(p));
	atoll_process_close(&p);
	atoll_process_close(&p);
	assert_null(p);
}

static void redirects_are_not_followed(void **state)
{
	struct atoll_list *l = NULL;

	(void)state;
	says("HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/steal\r\nContent-Length: 0\r\n\r\n");
	assert_int_equal(atoll_list_sandboxes(a, &l, &e), -EPROTO);
	assert_int_equal(e.status, 302);
	assert_non_null(strstr(e.text, "redirect"));
	assert_int_equal(the.calls, 1);
	no_secrets();
}

static void answers_have_a_largest_size(void **state)
{
	struct atoll_list *l = NULL;
	char *content = NULL;
	size_t n;

	(void)state;
	says("HTTP/1.1 200 OK\r\nContent-Length: 20971520\r\n\r\n");
	the.flood = 20971520;
	assert_int_equal(atoll_list_sandboxes(a, &l, &e), -EFBIG);
	says("HTTP/1.1 200 OK\r\nContent-Length: 20971520\r\n\r\n");
	the.flood = 20971520;
	assert_int_equal(atoll_file_get(sb, "/x", NULL, 1000, &content, &n, &e), -EFBIG);
	assert_null(content);
}

static void answers_that_are_none(void **state)
{
	static const char *const bodies[] = { "", "null", "{}", "{\"sandboxID\":7}", "{\"sandboxID\":\"\"}",
		"{\"sandboxID\":\"a\\r\\nX: y\"}", "{\"sandboxID\":\"../../x\"}",
		"{\"sandboxID\":\"i1\",\"envdAccessToken\":\"a\\nb\"}", "[[[[[[", "\xff\xfe" };
	struct atoll_sandbox *none = NULL;

	(void)state;
	for (size_t i = 0; i < sizeof(bodies) / sizeof(*bodies); i++) {
		char text[256];

		(void)snprintf(text, sizeof(text), "HTTP/1.1 201 Created\r\nContent-Length: %zu\r\n\r\n%s",
		    strlen(bodies[i]), bodies[i]);
		says(text);
		assert_int_equal(atoll_sandbox_create(a, NULL, &none, &e), -EPROTO);
		assert_null(none);
		no_secrets();
	}
}

static void an_error_that_repeats_the_key(void **state)
{
	(void)state;
	says("HTTP/1.1 401 Unauthorized\r\nContent-Length: 54\r\n\r\n{\"code\":401,\"message\":\"bad key "
	     "e2b_a_very_secret_key\"}");
	assert_int_equal(atoll_kill(a, "i1", &e), -EACCES);
	no_secrets();
}

/* Whoever did not set a key is told which one was refused. */
static void a_key_that_was_found_is_refused(void **state)
{
	(void)state;
	says("HTTP/1.1 401 Unauthorized\r\nContent-Length: 36\r\n\r\n{\"code\":401,\"message\":\"not a key\"}  ");
	a->has_found_key = true;
	assert_int_equal(atoll_kill(a, "i1", &e), -EACCES);
	a->has_found_key = false;
	assert_string_equal(e.text,
	    "the server refused the key found on this machine, because E2B_API_KEY is not set: not a key (401)");
	assert_int_equal(atoll_kill(a, "i1", &e), -EACCES);
	assert_string_equal(e.text, "the server refused the key: not a key (401)");
}

static void an_older_server_gets_the_older_call(void **state)
{
	struct atoll_sandbox *none = NULL;

	(void)state;
	says("HTTP/1.1 404 Not Found\r\nContent-Length: 18\r\n\r\n{\"message\":\"none\"}");
	assert_int_equal(atoll_sandbox_create(a, NULL, &none, &e), -ENOENT);
	assert_int_equal(the.calls, 2);
	assert_non_null(strstr(the.seen, "POST /sandboxes HTTP/1.1"));
	assert_non_null(strstr(the.seen, "\"secure\":true"));
}

static bool stop_now(void *user)
{
	return ++*(int *)user > 0;
}

static void a_call_can_be_stopped(void **state)
{
	int asked = 0;

	(void)state;
	says("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n");
	the.delay_ms = 1500;
	atoll_set_stop(a, stop_now, &asked);
	assert_int_equal(atoll_health(a, &e), -ECANCELED);
	assert_true(asked > 0);
	atoll_set_stop(a, NULL, NULL);
}

static void nobody_listens(void **state)
{
	struct atoll *other = NULL;

	(void)state;
	assert_int_equal(
	    atoll_new(&(struct atoll_config) { .api_url = "http://127.0.0.1:1", .api_key = KEY, .no_env = true },
		&other, &e),
	    0);
	assert_int_equal(atoll_health(other, &e), -ECONNREFUSED);
	atoll_free(other);
	assert_int_equal(
	    atoll_new(&(struct atoll_config) { .domain = "nowhere.invalid", .api_key = KEY, .no_env = true }, &other,
		&e),
	    0);
	assert_int_equal(atoll_health(other, &e), -EHOSTUNREACH);
	no_secrets();
	atoll_free(other);
}

static bool stop_when_asked_for_a_name(void *user)
{
	(void)user;
	return names_waiting() > 0;
}

/* The resolver is given up with the call: neither a stop nor closing waits for it. */
static void a_name_that_is_not_resolved(void **state)
{
	struct atoll *other = NULL;

	(void)state;
	assert_int_equal(
	    atoll_new(&(struct atoll_config) { .api_url = "http://api.slow", .api_key = KEY, .no_env = true }, &other,
		&e),
	    0);
	atoll_set_stop(other, stop_when_asked_for_a_name, NULL);
	assert_int_equal(atoll_health(other, &e), -ECANCELED);
	assert_int_equal(names_waiting(), 1);
	atoll_free(other);
	assert_int_equal(names_waiting(), 1);
	names_answer();
}

static ssize_t too_much(void *user, void *p, size_t n)
{
	(void)user, (void)p;
	return (ssize_t)n + 1;
}

static ssize_t fails(void *user, void *p, size_t n)
{
	(void)user, (void)p, (void)n;
	return -EIO;
}

static void sources_that_lie(void **state)
{
	(void)state;
	says("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n[]");
	assert_int_equal(atoll_file_write(sb, "/x", NULL, too_much, NULL, &e), -EOVERFLOW);
	says("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n[]");
	assert_int_equal(atoll_file_write(sb, "/x", NULL, fails, NULL, &e), -EIO);
}

static void nulls_are_refused(void **state)
{
	struct atoll_sandbox *none = NULL;
	struct atoll_execution *x = NULL;
	struct atoll_list *l = NULL;
	const char *const argv[] = { NULL };

	(void)state;
	assert_int_equal(atoll_new(NULL, NULL, &e), -EINVAL);
	assert_int_equal(atoll_sandbox_create(NULL, NULL, &none, &e), -EINVAL);
	assert_int_equal(atoll_sandbox_create(a, NULL, NULL, &e), -EINVAL);
	assert_int_equal(atoll_sandbox_open(a, NULL, &none, &e), -EINVAL);
	assert_int_equal(atoll_sandbox_open(a, "", &none, &e), -EINVAL);
	assert_int_equal(atoll_kill(a, NULL, NULL), -EINVAL);
	assert_int_equal(atoll_kill(NULL, "i1", NULL), -EINVAL);
	assert_int_equal(atoll_list_sandboxes(NULL, &l, &e), -EINVAL);
	assert_int_equal(atoll_run_code(NULL, &(struct atoll_code) { .code = "1" }, NULL, &x, &e), -EINVAL);
	assert_int_equal(atoll_run_code(sb, NULL, NULL, &x, &e), -EINVAL);
	assert_int_equal(atoll_run_code(sb, &(struct atoll_code) { .code = NULL }, NULL, &x, &e), -EINVAL);
	assert_int_equal(atoll_run_code(sb, &(struct atoll_code) { .code = "1", .language = "r", .context_id = "c" },
			     NULL, &x, NULL),
	    -EINVAL);
	assert_int_equal(atoll_run_code(sb, &(struct atoll_code) { .code = "1", .n_envs = 3 }, NULL, &x, &e), -EINVAL);
	assert_int_equal(atoll_run_code(sb, &(struct atoll_code) { .code = "\xff" }, NULL, &x, &e), -EINVAL);
	assert_int_equal(atoll_command_run(sb, &(struct atoll_command) { .argv = argv }, NULL, NULL, NULL, &e),
	    -EINVAL);
	assert_int_equal(atoll_command_run(sb, NULL, NULL, NULL, NULL, NULL), -EINVAL);
	assert_int_equal(atoll_file_put(sb, "/x", NULL, NULL, 5, &e), -EINVAL);
	assert_int_equal(atoll_file_get(sb, NULL, NULL, 0, NULL, NULL, &e), -EINVAL);
	assert_int_equal(atoll_git_clone(sb, NULL, NULL, NULL, 0, &e), -EINVAL);
	assert_int_equal(atoll_watch(sb, &(struct atoll_watch_spec) { .path = NULL }, NULL, NULL, &e), -EINVAL);
	assert_int_equal(atoll_process_poll(NULL, NULL, 0, 0, NULL), -EINVAL);
	assert_int_equal(atoll_process_kill(sb, -1, SIGKILL, &e), -EINVAL);
	assert_int_equal(atoll_process_kill(sb, 1, SIGHUP, &e), -EINVAL);
	assert_int_equal(atoll_process_send(NULL, "", 0), -EINVAL);
	assert_null(atoll_process_exit(NULL));
	assert_null(atoll_sandbox_id(NULL));
	atoll_free(NULL);
	atoll_sandbox_free(NULL);
	atoll_process_free(NULL);
	atoll_execution_free(NULL);
	atoll_output_free(NULL);
	atoll_watcher_free(NULL);
	atoll_list_free(NULL);
	atoll_set_stop(NULL, NULL, NULL);
}

/* --- connections that are kept by who gave them --- */

static struct {
	int given, clean; /* of the last one: -1 none yet */
} back;

/* Some versions of libcurl connect what is connected, for which the agent layer has a filter. */
int connect(int fd, __CONST_SOCKADDR_ARG to, socklen_t n)
{
	struct sockaddr_storage peer;
	socklen_t size = sizeof(peer);

	return getpeername(fd, (struct sockaddr *)&peer, &size) == 0
	    ? 0
	    : (int)syscall(SYS_connect, fd, to.__sockaddr__, n);
}

static int open_one(void *user)
{
	struct sockaddr_in at;
	socklen_t n = sizeof(at);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	(void)user;
	if (getsockname(the.listener, (struct sockaddr *)&at, &n) < 0 || connect(fd, (struct sockaddr *)&at, n) < 0)
		return -ECONNREFUSED;
	return fd;
}

static void take_back(void *user, int fd, bool clean)
{
	(void)user;
	back.given++;
	back.clean = clean;
	(void)close(fd);
}

static ssize_t zeroes_of(void *user, void *p, size_t n)
{
	size_t *left = user;

	n = n < *left ? n : *left;
	memset(p, 0, n);
	*left -= n;
	return (ssize_t)n;
}

static int write_to(struct atoll_sandbox *to, size_t size)
{
	back.given = back.clean = 0;
	return atoll_file_write(to, "/tmp/x", NULL, zeroes_of, &size, &e);
}

/* What was not sent of a body that was refused early would be taken from the next call. */
static void an_early_refusal_spoils_the_connection(void **state)
{
	struct atoll *b;
	struct atoll_sandbox *mine;

	(void)state;
	assert_int_equal(
	    atoll_new(&(struct atoll_config) { .api_url = a->api_url, .api_key = KEY, .no_env = true }, &b, &e), 0);
	assert_int_equal(client_via(b, open_one, take_back, NULL, "", false, &e), 0);
	says(CREATED);
	assert_int_equal(atoll_sandbox_create(b, NULL, &mine, &e), 0);
	says("HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\n\r\ngone");
	assert_int_equal(write_to(mine, 32 * 1024 * 1024), -ENOENT);
	assert_int_equal(back.given, 1);
	assert_int_equal(back.clean, 0);
	assert_int_equal(atoll_set_timeout(b, "i0123456789abcdef", 60, &e), -ENOENT); /* all of this one was sent */
	assert_int_equal(back.clean, 1);
	atoll_sandbox_close(&mine);
	atoll_close(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(code_that_breaks_off),
		cmocka_unit_test(commands_that_break_off),
		cmocka_unit_test(a_process_that_breaks_off),
		cmocka_unit_test(redirects_are_not_followed),
		cmocka_unit_test(answers_have_a_largest_size),
		cmocka_unit_test(answers_that_are_none),
		cmocka_unit_test(an_error_that_repeats_the_key),
		cmocka_unit_test(a_key_that_was_found_is_refused),
		cmocka_unit_test(an_older_server_gets_the_older_call),
		cmocka_unit_test(a_call_can_be_stopped),
		cmocka_unit_test(nobody_listens),
		cmocka_unit_test(a_name_that_is_not_resolved),
		cmocka_unit_test(sources_that_lie),
		cmocka_unit_test(nulls_are_refused),
		cmocka_unit_test(an_early_refusal_spoils_the_connection),
	};

	(void)alarm(120); /* who waits for a resolver that does not answer waits for ever */
	return cmocka_run_group_tests(tests, begin, end);
}
