/* SPDX-License-Identifier: Apache-2.0 */
/* Units of http/tls under a real server: handshakes, what is refused, resumption, renewal, bulk. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <openssl/err.h>
#include <openssl/ssl.h>

#include "cli/host/x509.h"
#include "http/server.h"
#include "http/tls.h"
#include "loop/stream.h"
#include "unit.h"
#include "wire.h"

#define BULK (4 << 20)

struct site {
	struct loop *l;
	struct http_server *server;
	struct tls *tls;
	struct sockaddr_in at;
	struct buf ca, ca_key, cert, key;
	struct buf body; /* of the last request */
	size_t left;     /* of a bulk answer */
};

static char block[65536];

static void on_body(struct http_req *rq, struct str data)
{
	struct site *t = rq->user;

	buf_str(&t->body, data);
}

static void push(struct http_req *rq)
{
	struct site *t = rq->user;

	while (t->left && http_queued(rq) < STREAM_HIGH) {
		size_t n = t->left < sizeof block ? t->left : sizeof block;

		http_write(rq, (struct str) { block, n });
		t->left -= n;
	}
	if (t->left == 0)
		http_end(rq);
}

static void on_body_end(struct http_req *rq)
{
	struct site *t = rq->user;

	if (str_is(rq->path, "/bulk")) {
		t->left = BULK;
		http_begin(rq, 200, NULL, NULL, -1);
		push(rq);
	} else {
		http_respond(rq, 200, NULL, NULL, STR_LIT("ok"));
	}
}

static const struct http_req_ops req_ops = { .on_body = on_body, .on_body_end = on_body_end, .on_drain = push };

static void on_request(void *user, struct http_req *rq)
{
	rq->user = user;
	rq->ops = &req_ops;
	buf_clear(&((struct site *)user)->body);
}

static const struct http_server_ops ops = { .on_request = on_request };
static const uint8_t secret[TLS_SECRET_SIZE] = "a secret of the warden";

static void make_cert(struct site *t, const char *name)
{
	const char *dns[] = { name, "localhost" };
	const struct x509_names names = { dns, 2, .loopback = true };
	struct err e = ERR_INIT;

	if (!t->ca.n) {
		t->ca = t->ca_key = t->cert = t->key = BUF_INIT(65536);
		assert_int_equal(x509_make_ca("unit",
				     &(struct x509_names) { (const char *[]) { "test", "localhost" }, 2, true }, 10,
				     &t->ca, &t->ca_key, &e),
		    0);
	}
	buf_clear(&t->cert);
	buf_clear(&t->key);
	assert_int_equal(x509_make_cert(buf_view(&t->ca), buf_view(&t->ca_key), &names, 5, &t->cert, &t->key, &e), 0);
}

static void load(struct site *t)
{
	struct tls_cert_info info;
	struct err e = ERR_INIT;

	assert_int_equal(tls_load(t->tls, buf_view(&t->cert), buf_view(&t->key), &info, &e), 0);
	assert_true(info.not_after > 0);
}

static int set_up(void **state)
{
	struct site *t = calloc(1, sizeof *t);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	socklen_t n = sizeof t->at;

	t->at = (struct sockaddr_in) { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	assert_int_equal(bind(fd, (struct sockaddr *)&t->at, n), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&t->at, &n), 0);
	assert_int_equal(listen(fd, 2048), 0);
	t->l = loop_new();
	t->body = BUF_INIT(BULK + 65536);
	t->tls = tls_new(secret, false);
	make_cert(t, "one.test");
	load(t);
	t->server = http_server_new(t->l, -1, &ops, t);
	assert_int_equal(http_server_listen(t->server, fd, tls_secure(t->tls)), 0);
	*state = t;
	return 0;
}

static int tear_down(void **state)
{
	struct site *t = *state;

	http_server_free(t->server);
	tls_free(t->tls);
	wire_turns(t->l, 3);
	loop_free(t->l);
	buf_done(&t->ca);
	buf_done(&t->ca_key);
	buf_done(&t->cert);
	buf_done(&t->key);
	buf_done(&t->body);
	free(t);
	return 0;
}

/* --- the client --- */

static int dial(struct site *t)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int rc = connect(fd, (struct sockaddr *)&t->at, sizeof t->at);

	assert_true(rc == 0 || errno == EINPROGRESS);
	return fd;
}

struct client {
	SSL_CTX *ctx;
	SSL *ssl;
	int fd;
};

static SSL_SESSION *last_session;

static int on_session(SSL *ssl, SSL_SESSION *s)
{
	(void)ssl;
	SSL_SESSION_free(last_session);
	last_session = s;
	return 1;
}

static struct client client_new(struct site *t)
{
	struct client c = { .ctx = SSL_CTX_new(TLS_client_method()), .fd = dial(t) };
	BIO *b = BIO_new_mem_buf(t->ca.p, (int)t->ca.n);
	X509 *ca = PEM_read_bio_X509(b, NULL, NULL, NULL);

	X509_STORE_add_cert(SSL_CTX_get_cert_store(c.ctx), ca);
	X509_free(ca);
	BIO_free(b);
	SSL_CTX_set_verify(c.ctx, SSL_VERIFY_PEER, NULL);
	SSL_CTX_set_session_cache_mode(c.ctx, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL_STORE);
	SSL_CTX_sess_set_new_cb(c.ctx, on_session);
	c.ssl = SSL_new(c.ctx);
	SSL_set_fd(c.ssl, c.fd);
	SSL_set_mode(c.ssl, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
	return c;
}

static void client_done(struct client *c)
{
	SSL_free(c->ssl);
	SSL_CTX_free(c->ctx);
	fd_close(c->fd);
}

static bool shake(struct site *t, struct client *c)
{
	for (int i = 0; i < 200; i++) {
		int r = SSL_connect(c->ssl);

		if (r == 1)
			return true;
		int why = SSL_get_error(c->ssl, r);
		if (why != SSL_ERROR_WANT_READ && why != SSL_ERROR_WANT_WRITE)
			return false;
		wire_turns(t->l, 2);
	}
	return false;
}

static void say(struct site *t, struct client *c, struct str s)
{
	for (int i = 0; s.n && i < 100000; i++) {
		size_t n = 0;

		if (SSL_write_ex(c->ssl, s.p, s.n, &n))
			str_skip(&s, n);
		wire_turn(t->l);
	}
	assert_int_equal(s.n, 0);
}

/* Until it has come whole, or the peer has ended. */
static void hear(struct site *t, struct client *c, struct buf *to, size_t want)
{
	for (int i = 0; i < 100000 && to->n < want; i++) {
		size_t n = 0;
		char *p = buf_room(to, 65536);

		if (SSL_read_ex(c->ssl, p, 65536, &n))
			to->n += n;
		else if (SSL_get_error(c->ssl, 0) != SSL_ERROR_WANT_READ)
			return;
		else
			wire_turns(t->l, 2);
	}
}

static const char ok_answer[] = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

static void assert_served(struct site *t, struct client *c)
{
	autobuf struct buf got = BUF_INIT(1 << 20);

	say(t, c, STR_LIT("GET / HTTP/1.1\r\nHost: x\r\n\r\n"));
	hear(t, c, &got, sizeof ok_answer - 1);
	assert_true(str_is(buf_view(&got), ok_answer));
}

/* --- the cases --- */

static void requests_are_served_behind_a_handshake(void **state)
{
	struct site *t = *state;
	struct client c = client_new(t);

	assert_true(SSL_set1_host(c.ssl, "one.test"));
	assert_true(shake(t, &c));
	assert_int_equal(SSL_version(c.ssl), TLS1_3_VERSION);
	assert_served(t, &c);
	assert_served(t, &c);
	assert_int_equal(http_server_conns(t->server), 1);
	SSL_shutdown(c.ssl);
	wire_turns(t->l, 4);
	assert_int_equal(http_server_conns(t->server), 0);
	client_done(&c);
}

static void the_oldest_version_is_1_2(void **state)
{
	struct site *t = *state;
	struct client c = client_new(t);

	SSL_set_max_proto_version(c.ssl, TLS1_2_VERSION);
	assert_true(shake(t, &c));
	assert_served(t, &c);
	client_done(&c);
	c = client_new(t);
	SSL_set_security_level(c.ssl, 0);
	SSL_set_min_proto_version(c.ssl, TLS1_VERSION);
	SSL_set_max_proto_version(c.ssl, TLS1_1_VERSION);
	assert_false(shake(t, &c));
	wire_turns(t->l, 4);
	assert_int_equal(http_server_conns(t->server), 0);
	client_done(&c);
}

static void protocols_are_settled_on_or_refused(void **state)
{
	struct site *t = *state;
	struct client c = client_new(t);
	const unsigned char *p;
	unsigned n;

	assert_int_equal(SSL_set_alpn_protos(c.ssl, (const unsigned char *)"\2h2\10http/1.1", 12), 0);
	assert_true(shake(t, &c));
	SSL_get0_alpn_selected(c.ssl, &p, &n);
	assert_int_equal(n, 8);
	assert_memory_equal(p, "http/1.1", 8);
	assert_served(t, &c);
	client_done(&c);
	c = client_new(t);
	assert_int_equal(SSL_set_alpn_protos(c.ssl, (const unsigned char *)"\4spdy", 5), 0);
	assert_false(shake(t, &c));
	client_done(&c);
}

/* One connection, with the session of an earlier one. Was it taken? */
static bool resumed(struct site *t, int version)
{
	struct client c = client_new(t);

	SSL_set_max_proto_version(c.ssl, version);
	if (last_session)
		SSL_set_session(c.ssl, last_session);
	assert_true(shake(t, &c));
	assert_served(t, &c); /* 1.3: the tickets come behind the handshake */
	bool yes = SSL_session_reused(c.ssl);

	SSL_shutdown(c.ssl);
	client_done(&c);
	return yes;
}

/* As a new life of the front does: all new, but for the secret. */
static void begin_again(struct site *t, const uint8_t *with)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	socklen_t n = sizeof t->at;

	http_server_free(t->server);
	tls_free(t->tls);
	wire_turns(t->l, 3);
	t->at.sin_port = 0;
	assert_int_equal(bind(fd, (struct sockaddr *)&t->at, n), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&t->at, &n), 0);
	assert_int_equal(listen(fd, 64), 0);
	t->tls = tls_new(with, false);
	load(t);
	t->server = http_server_new(t->l, -1, &ops, t);
	assert_int_equal(http_server_listen(t->server, fd, tls_secure(t->tls)), 0);
}

static void sessions_outlive_the_process_that_made_them(void **state)
{
	static const uint8_t other[TLS_SECRET_SIZE] = "another secret";
	struct site *t = *state;

	for (int version = TLS1_2_VERSION; version <= TLS1_3_VERSION; version++) {
		SSL_SESSION_free(last_session);
		last_session = NULL;
		assert_false(resumed(t, version));
		assert_true(resumed(t, version));
		begin_again(t, secret);
		assert_true(resumed(t, version));
		begin_again(t, other);
		assert_false(resumed(t, version));
		begin_again(t, secret);
	}
	SSL_SESSION_free(last_session);
	last_session = NULL;
}

static void a_renewed_certificate_is_for_new_connections(void **state)
{
	struct site *t = *state;
	struct client old = client_new(t), fresh;
	struct tls_cert_info info;
	struct err e = ERR_INIT;

	assert_true(SSL_set1_host(old.ssl, "one.test"));
	assert_true(shake(t, &old));
	make_cert(t, "two.test");
	load(t);
	fresh = client_new(t);
	assert_true(SSL_set1_host(fresh.ssl, "two.test"));
	assert_true(shake(t, &fresh));
	assert_served(t, &old);
	assert_served(t, &fresh);
	client_done(&old);
	client_done(&fresh);

	/* What cannot be used changes nothing. */
	struct buf key = t->key;
	t->key = BUF_INIT(65536);
	make_cert(t, "three.test");
	assert_true(tls_load(t->tls, buf_view(&t->cert), buf_view(&key), &info, &e) < 0);
	assert_true(tls_load(t->tls, STR_LIT("nonsense"), buf_view(&t->key), &info, &e) < 0);
	assert_true(tls_load(t->tls, buf_view(&t->cert), STR_LIT(""), &info, &e) < 0);
	buf_done(&key);
	fresh = client_new(t);
	assert_true(SSL_set1_host(fresh.ssl, "two.test"));
	assert_true(shake(t, &fresh));
	client_done(&fresh);
}

static void much_goes_both_ways(void **state)
{
	struct site *t = *state;
	struct client c = client_new(t);
	autobuf struct buf big = BUF_INIT(BULK), got = BUF_INIT(2 * BULK);
	char head[96];

	for (size_t i = 0; i < BULK; i += 4)
		buf_put(&big, &i, 4);
	for (size_t i = 0; i < sizeof block; i++)
		block[i] = (char)(i * 7);
	assert_true(shake(t, &c));
	int n = snprintf(head, sizeof head, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n", BULK);
	say(t, &c, (struct str) { head, (size_t)n });
	say(t, &c, buf_view(&big));
	hear(t, &c, &got, sizeof ok_answer - 1);
	assert_true(str_is(buf_view(&got), ok_answer));
	assert_int_equal(t->body.n, BULK);
	assert_memory_equal(t->body.p, big.p, BULK);

	buf_clear(&got);
	say(t, &c, STR_LIT("GET /bulk HTTP/1.0\r\nHost: x\r\n\r\n"));
	hear(t, &c, &got, 2 * BULK);
	assert_true(got.n > BULK);
	for (size_t i = 0; i < BULK; i += sizeof block)
		assert_memory_equal(got.p + got.n - BULK + i, block, sizeof block);
	client_done(&c);
}

static void plain_http_is_told_in_plain_words(void **state)
{
	struct site *t = *state;
	autobuf struct buf got = BUF_INIT(1 << 20);
	int fd = dial(t);

	wire_turns(t->l, 2);
	wire_send(fd, STR_LIT("GET / HTTP/1.1\r\nHost: x\r\n\r\n"));
	wire_turns(t->l, 4);
	(void)wire_recv(fd, &got);
	assert_non_null(memmem(got.p, got.n, "https://", 8));
	assert_int_equal(http_server_conns(t->server), 0);
	fd_close(fd);
}

static void nonsense_ends_one_connection(void **state)
{
	struct site *t = *state;
	static const char *const junk[] = { "\x16\x03\x01\xff\xff", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc",
		"\x80\x01\x02\x03\x04", "\x15\x03\x03\x00\x02\x02\x28" };
	struct client c = client_new(t);

	assert_true(shake(t, &c));
	for (size_t i = 0; i < ARRAY_LEN(junk); i++) {
		int fd = dial(t);

		wire_turns(t->l, 2);
		wire_send(fd, (struct str) { junk[i], 5 });
		wire_turns(t->l, 2);
		fd_close(fd);
	}
	wire_turns(t->l, 6);
	assert_int_equal(http_server_conns(t->server), 1);
	assert_served(t, &c);
	client_done(&c);
}

static void without_a_certificate_nobody_is_let_in(void **state)
{
	struct site *t = *state;
	struct client c;

	http_server_free(t->server);
	tls_free(t->tls);
	t->tls = tls_new(secret, false);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	socklen_t n = sizeof t->at;
	t->at.sin_port = 0;
	assert_int_equal(bind(fd, (struct sockaddr *)&t->at, n), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&t->at, &n), 0);
	assert_int_equal(listen(fd, 64), 0);
	t->server = http_server_new(t->l, -1, &ops, t);
	assert_int_equal(http_server_listen(t->server, fd, tls_secure(t->tls)), 0);
	c = client_new(t);
	assert_false(shake(t, &c));
	client_done(&c);
	load(t);
	c = client_new(t);
	assert_true(shake(t, &c));
	client_done(&c);
}

/* More of them than handshakes may be under way: the oldest go, and who speaks is served. */
static void silent_clients_do_not_keep_others_out(void **state)
{
	struct site *t = *state;
	static int fds[600];
	struct rlimit lim;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &lim), 0);
	lim.rlim_cur = lim.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &lim), 0);
	for (size_t i = 0; i < ARRAY_LEN(fds); i++)
		fds[i] = dial(t);
	wire_turns(t->l, 40);
	size_t most = http_server_conns(t->server);
	assert_true(most < ARRAY_LEN(fds));
	wire_wait(t->l, 1200);
	struct client c = client_new(t);
	assert_true(shake(t, &c));
	assert_served(t, &c);
	assert_true(http_server_conns(t->server) <= most + 1);
	client_done(&c);
	for (size_t i = 0; i < ARRAY_LEN(fds); i++)
		fd_close(fds[i]);
}

/* C4: one port for both, as the first byte of a connection tells. */
static void one_listener_serves_both(void **state)
{
	struct site *t = *state;
	static const char get[] = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";
	char answer[512];

	http_server_free(t->server);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	socklen_t n = sizeof t->at;
	t->at.sin_port = 0;
	assert_int_equal(bind(fd, (struct sockaddr *)&t->at, n), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&t->at, &n), 0);
	assert_int_equal(listen(fd, 1024), 0);
	t->server = http_server_new(t->l, -1, &ops, t);
	assert_int_equal(http_server_listen_both(t->server, fd, tls_secure(t->tls)), 0);
	for (int i = 0; i < 3; i++) {
		struct client c = client_new(t);
		assert_true(shake(t, &c));
		assert_served(t, &c);
		int plain = dial(t);

		assert_int_equal(write(plain, get, sizeof get - 1), (ssize_t)sizeof get - 1);
		wire_turns(t->l, 10);
		ssize_t got = recv(plain, answer, sizeof answer - 1, MSG_DONTWAIT);
		assert_true(got > 0);
		answer[got] = '\0';
		assert_non_null(strstr(answer, "200 OK"));
		fd_close(plain);
		client_done(&c);
	}
	wire_turns(t->l, 10);
	assert_int_equal(http_server_conns(t->server), 0);

	/* Handshakes that stop after their first byte keep nobody out, and none of them stays in the books. */
	static int fds[600];
	for (size_t i = 0; i < ARRAY_LEN(fds); i++) {
		fds[i] = dial(t);
		assert_int_equal(write(fds[i], "\x16", 1), 1);
		wire_turns(t->l, 1);
	}
	wire_turns(t->l, 40);
	assert_true(http_server_conns(t->server) < ARRAY_LEN(fds));
	struct client c = client_new(t);
	assert_true(shake(t, &c));
	assert_served(t, &c);
	client_done(&c);
	for (size_t i = 0; i < ARRAY_LEN(fds); i++)
		fd_close(fds[i]);
	wire_turns(t->l, 40);
	assert_int_equal(http_server_conns(t->server), 0);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(requests_are_served_behind_a_handshake),
		CASE(the_oldest_version_is_1_2),
		CASE(protocols_are_settled_on_or_refused),
		CASE(sessions_outlive_the_process_that_made_them),
		CASE(a_renewed_certificate_is_for_new_connections),
		CASE(much_goes_both_ways),
		CASE(plain_http_is_told_in_plain_words),
		CASE(nonsense_ends_one_connection),
		CASE(without_a_certificate_nobody_is_let_in),
		CASE(silent_clients_do_not_keep_others_out),
		CASE(one_listener_serves_both),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
