/* SPDX-License-Identifier: Apache-2.0 */
/* client/call: one blocking HTTP request with libcurl. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/clock.h"
#include "base/fd.h"
#include "client/client.h"
#include "client/mock/mock.h"
#include "http/json.h"

#define CONNECT_TIMEOUT_MS 10000L
#define WAIT_MAX_MS 3600000

int call_header(struct call *c, const char *fmt, ...)
{
	char line[2048];
	va_list ap;

	va_start(ap, fmt);
	int n = vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	if (n < 0 || (size_t)n >= sizeof(line))
		return -ENOMEM;
	struct curl_slist *more = curl_slist_append(c->headers, line);
	if (!more)
		return -ENOMEM;
	c->headers = more;
	return 0;
}

int call_header_sandbox(struct call *c, const struct atoll_sandbox *sb, unsigned port)
{
	int rc = call_header(c, "E2b-Sandbox-Id: %s", sb->id);

	c->in_sandbox = true;
	c->token = sb->token;
	if (rc == 0)
		rc = call_header(c, "E2b-Sandbox-Port: %u", port);
	if (rc == 0 && sb->traffic_token && port != ENVD_PORT)
		rc = call_header(c, "E2B-Traffic-Access-Token: %s", sb->traffic_token);
	if (rc == 0 && sb->token)
		rc = call_header(c, "X-Access-Token: %s", sb->token);
	if (rc == 0 && sb->session)
		rc = call_header(c, "X-Atoll-Session: %s", sb->session);
	return rc;
}

int call_header_user(struct call *c, const char *user)
{
	autobuf struct buf b = BUF_INIT(1024);
	autofree char *plain = NULL;

	if (!user)
		return 0;
	plain = str_fmt("%s:", user);
	if (!plain)
		return -ENOMEM;
	base64_encode(&b, str_of(plain), true);
	return b.bad ? -ENOMEM : call_header(c, "Authorization: Basic %s", buf_cstr(&b));
}

static size_t on_body(char *p, size_t size, size_t n, void *user)
{
	struct call *c = user;
	long status = 0;

	c->log.received += size * n;
	if (c->taker)
		curl_easy_getinfo(c->h, CURLINFO_RESPONSE_CODE, &status);
	if (status >= 200 && status <= 299) {
		c->taker_stopped = c->taker(c->taker_user, p, size * n) != 0;
		return c->taker_stopped ? 0 : size * n;
	}
	buf_put(&c->answer, p, size * n);
	return c->answer.bad ? 0 : size * n;
}

static size_t on_header(char *p, size_t size, size_t n, void *user)
{
	struct call *c = user;
	struct str value = { p, size * n };
	struct str name = str_cut(&value, ':');

	while (value.n > 0 && (value.p[value.n - 1] == '\r' || value.p[value.n - 1] == '\n'))
		value.n--;
	if (value.p && str_ieq(name, STR_LIT("connection")) && str_ieq(str_trim(value), STR_LIT("close")))
		c->peer_closes = true;
	if (value.p && str_ieq(name, STR_LIT("x-next-token")))
		(void)str_copy(c->next_token, sizeof(c->next_token), str_trim(value));
	return size * n;
}

static size_t on_source(char *p, size_t size, size_t n, void *user)
{
	struct call *c = user;
	ssize_t got = c->source(c->source_user, p, size * n);

	if (got >= 0 && (size_t)got <= size * n) {
		c->log.sent += (uint64_t)got;
		return (size_t)got;
	}
	c->source_no = got < 0 ? (int)got : -EOVERFLOW;
	return CURL_READFUNC_ABORT;
}

static int on_progress(void *user, curl_off_t dt, curl_off_t dn, curl_off_t ut, curl_off_t un)
{
	struct atoll *a = user;

	(void)dt, (void)dn, (void)ut, (void)un;
	return a->stop && a->stop(a->stop_user) ? 1 : 0;
}

/* The whole host is compared: 127.0.0.1.example.org and 127.0.0.1@example.org are not loopback. */
bool client_is_loopback(const char *url)
{
	struct str s = str_of(url);

	str_skip(&s, str_starts(s, "https://") ? 8 : str_starts(s, "http://") ? 7 : 0);
	struct str host = str_cut(&s, '/');
	if (memchr(host.p, '@', host.n))
		return false;
	if (str_starts(host, "[::1]") || str_starts(host, "[::]"))
		return str_ends(host, "]") || memmem(host.p, host.n, "]:", 2);
	host = str_cut(&host, ':');
	for (size_t i = 0; str_starts(host, "127.") && i < host.n; i++) {
		if (!strchr("0123456789.", host.p[i]))
			return false;
	}
	return str_starts(host, "127.") || str_is(host, "0.0.0.0") || str_is(host, "localhost");
}

/* With client_via(): the socket opened for the current call of this thread, and the one libcurl closed. */
static _Thread_local struct {
	int opened, left;
} via = { -1, -1 };

static curl_socket_t on_open(void *user, curlsocktype purpose, struct curl_sockaddr *address)
{
	struct atoll *a = user;
	int fd = a->open(a->open_user);

	(void)purpose, (void)address;
	via.opened = fd;
	return fd < 0 ? CURL_SOCKET_BAD : fd;
}

/* libcurl cannot reuse a connection whose peer has no address, such as one from client_via(). It is set to close each
 * connection, and this callback hands the socket back to its owner. libcurl may close a socket after its call has
 * ended; such a socket is not known to be clean. */
static int on_close(void *user, curl_socket_t fd)
{
	struct atoll *a = user;

	if (fd == via.opened)
		via.left = fd;
	else
		a->give_back(a->open_user, fd, false);
	return 0;
}

static int on_opened(void *user, curl_socket_t fd, curlsocktype purpose)
{
	(void)user, (void)fd, (void)purpose;
	return CURL_SOCKOPT_ALREADY_CONNECTED;
}

void client_setup_handle(struct atoll *a, CURL *h, const char *url)
{
	curl_easy_setopt(h, CURLOPT_URL, url);
	curl_easy_setopt(h, CURLOPT_NOSIGNAL, 1L);
	/* Do not wait for the resolver thread when a call has ended. */
	curl_easy_setopt(h, CURLOPT_QUICK_EXIT, 1L);
	curl_easy_setopt(h, CURLOPT_CONNECTTIMEOUT_MS, CONNECT_TIMEOUT_MS);
	curl_easy_setopt(h, CURLOPT_TCP_KEEPALIVE, 1L);
	curl_easy_setopt(h, CURLOPT_USERAGENT, "libatoll/" ATOLL_VERSION);
	curl_easy_setopt(h, CURLOPT_NOPROGRESS, 0L);
	curl_easy_setopt(h, CURLOPT_XFERINFOFUNCTION, on_progress);
	curl_easy_setopt(h, CURLOPT_XFERINFODATA, a);
	/* HTTP/1.1 is supported by all servers, and closing its connection tells the server that the caller is gone. */
	curl_easy_setopt(h, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
	curl_easy_setopt(h, CURLOPT_PROTOCOLS_STR, "http,https");
	if (a->mock)
		a->mock_ops->setup_handle(a->mock, h);
	if (a->ca_file)
		curl_easy_setopt(h, CURLOPT_CAINFO, a->ca_file);
	if (a->open) {
		curl_easy_setopt(h, CURLOPT_OPENSOCKETFUNCTION, on_open);
		curl_easy_setopt(h, CURLOPT_OPENSOCKETDATA, a);
		curl_easy_setopt(h, CURLOPT_SOCKOPTFUNCTION, on_opened);
		curl_easy_setopt(h, CURLOPT_TCP_KEEPALIVE, 0L);
	}
	if (client_is_loopback(url))
		curl_easy_setopt(h, CURLOPT_PROXY, "");
}

static void set_method(CURL *h, struct call *c)
{
	if (c->source) {
		curl_easy_setopt(h, CURLOPT_POST, 1L);
		curl_easy_setopt(h, CURLOPT_READFUNCTION, on_source);
		curl_easy_setopt(h, CURLOPT_READDATA, c);
		if (c->length)
			curl_easy_setopt(h, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)c->length);
	} else if (c->body.p) {
		curl_easy_setopt(h, CURLOPT_POST, 1L);
		curl_easy_setopt(h, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)c->body.n);
		curl_easy_setopt(h, CURLOPT_POSTFIELDS, c->body.p);
	}
	curl_easy_setopt(h, CURLOPT_CUSTOMREQUEST, c->method);
}

/* Only calls of the control API use the key, so only their 401 is about it. */
static int refused(const struct call *c, struct atoll_error *e)
{
	int rc = client_refused(e, c->status, buf_view(&c->answer));
	char why[sizeof(e->text)];

	if (c->status != 401 || c->in_sandbox)
		return rc;
	(void)snprintf(why, sizeof(why), "%s", e->text);
	return client_fail(e, e->no, c->status, "the server refused the key%s: %s",
	    c->log.a->has_found_key ? " found on this machine, because E2B_API_KEY is not set" : "", why);
}

/* Converts the outcome of the transfer to an error, or returns 0. */
static int judge(struct call *c, CURLcode rc, struct atoll_error *e)
{
	if (c->source_no < 0)
		return client_fail(e, -c->source_no, 0, "read the content: %s", strerrordesc_np(-c->source_no));
	if (c->taker_stopped)
		return client_fail(e, ECANCELED, 0, "interrupted");
	if (c->answer.bad)
		return client_fail(e, EFBIG, 0, "the response of %s is too large", c->base);
	/* A server may refuse an upload and close the connection before it has read all of it. Report its reason, not
	 * the send error. */
	if (rc != CURLE_OK && !(c->status >= 400 && rc == CURLE_SEND_ERROR))
		return client_curl_failed(e, rc, c->base);
	if (c->status < 200 || c->status > 299)
		return refused(c, e);
	return 0;
}

int client_call_begin(struct atoll *a, struct call *c, struct atoll_error *e)
{
	autofree char *url = str_fmt("%s%s", c->base, c->path);

	if (!url || call_header(c, "Expect:") < 0 ||
	    (c->source && !c->length && call_header(c, "Transfer-Encoding: chunked") < 0))
		return client_no_memory(e);
	CURL *h = c->h = handle_take(a);
	if (!h)
		return client_no_memory(e);
	client_setup_handle(a, h, url);
	curl_easy_setopt(h, CURLOPT_HTTPHEADER, c->headers);
	curl_easy_setopt(h, CURLOPT_TIMEOUT_MS, c->timeout_ms);
	curl_easy_setopt(h, CURLOPT_WRITEFUNCTION, on_body);
	curl_easy_setopt(h, CURLOPT_WRITEDATA, c);
	curl_easy_setopt(h, CURLOPT_HEADERFUNCTION, on_header);
	curl_easy_setopt(h, CURLOPT_HEADERDATA, c);
	set_method(h, c);
	if (a->open) {
		via.opened = via.left = -1;
		curl_easy_setopt(h, CURLOPT_FORBID_REUSE, 1L);
		curl_easy_setopt(h, CURLOPT_CLOSESOCKETFUNCTION, on_close);
		curl_easy_setopt(h, CURLOPT_CLOSESOCKETDATA, a);
	}
	c->log.a = a;
	c->log.begin_us = clock_mono_us();
	c->log.sent = c->body.n;
	return 0;
}

void call_let_go(struct atoll *a, bool clean)
{
	if (a->open && via.left >= 0)
		a->give_back(a->open_user, via.left, clean);
	via.opened = via.left = -1;
}

/* libcurl stops sending if the server refuses early. On that connection, the server would read the next call as the
 * rest of the body. */
static bool is_all_sent(const struct call *c, long status)
{
	int64_t length = c->source ? c->length : (int64_t)c->body.n;
	curl_off_t sent = 0;

	if ((!c->source && !c->body.p) || (status >= 200 && status < 300))
		return true;
	curl_easy_getinfo(c->h, CURLINFO_SIZE_UPLOAD_T, &sent);
	/* a source without a length is sent in chunks, so its size is not known */
	return (!c->source || length) && sent == length;
}

int client_call_end(struct call *c, CURLcode rc, struct atoll_error *e)
{
	struct atoll *a = c->log.a;
	long status = 0;

	curl_easy_getinfo(c->h, CURLINFO_RESPONSE_CODE, &status);
	call_let_go(a, rc == CURLE_OK && !c->peer_closes && is_all_sent(c, status));
	curl_easy_setopt(c->h, CURLOPT_HTTPHEADER, NULL);
	handle_give(a, take_ptr(&c->h));
	c->status = (int)status;
	c->log.end_us = clock_mono_us();
	int r = judge(c, rc, e);

	c->log.failed = -r;
	if (r < 0)
		client_redact(e, a, c->token);
	return r;
}

int call_run(struct atoll *a, struct call *c, struct atoll_error *e)
{
	int rc = client_call_begin(a, c, e);

	return rc < 0 ? rc : client_call_end(c, curl_easy_perform(c->h), e);
}

int multi_wait(CURLM *m, struct pollfd *fds, size_t n_fds, int timeout_ms)
{
	struct curl_waitfd extra[EXTRA_FDS_MAX];

	for (size_t i = 0; i < n_fds; i++)
		extra[i] = (struct curl_waitfd) { .fd = fds[i].fd, .events = CURL_WAIT_POLLIN };
	if (curl_multi_poll(m, extra, (unsigned)n_fds, timeout_ms < 0 ? WAIT_MAX_MS : timeout_ms, NULL) != CURLM_OK)
		return -EIO;
	/* curl does not report POLLHUP, which is how a pipe signals its end. */
	for (size_t i = 0; i < n_fds; i++)
		fds[i].revents = 0;
	if (n_fds > 0)
		(void)poll(fds, n_fds, 0);
	return 0;
}

void call_done(struct call *c)
{
	if (c->log.a)
		call_log(c);
	curl_slist_free_all(c->headers);
	buf_done(&c->answer);
}

int call_json(const struct call *c, json_type type, json_t **ret, struct atoll_error *e)
{
	json_t *j = json_loadb(c->answer.p ? c->answer.p : "", c->answer.n, 0, NULL);

	if (!j || json_typeof(j) != type) {
		json_decref(j);
		return client_fail(e, EPROTO, c->status, "the response of %s is not that of an atoll or E2B server",
		    c->base);
	}
	*ret = j;
	return 0;
}
