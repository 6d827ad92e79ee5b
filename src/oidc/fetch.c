/* SPDX-License-Identifier: Apache-2.0 */
/* oidc/fetch: libcurl's multi interface, restricted. */
#include "oidc/fetch.h"

#include <curl/curl.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/socket.h>

#include "base/buf.h"
#include "base/ca_bundle.h"
#include "base/fd.h"
#include "base/inet.h"
#include "ipc/webhooks.h"

#define TIMEOUT_MS 10000L
#define CONNECT_MS 5000L
#define HEADERS_MAX 200
#define WAIT_MS 1000
#define IDLE_MS 60000

struct fetch {
	LIST_ENTRY(fetch) link;
	struct fetcher *of;
	CURL *curl;
	struct curl_slist *headers;
	char *post;
	struct buf body;
	unsigned n_headers;
	bool is_issuer; /* its host */
	bool refused, too_large;
	fetch_fn *fn;
	void *user;
};

struct fetcher {
	const char *issuer;
	CURLM *multi;
	struct buf bundle; /* PEM */
	LIST_HEAD(, fetch) all;
};

/* --- called by libcurl --- */

/* The last check before a packet is sent. */
static curl_socket_t on_socket(void *user, curlsocktype purpose, struct curl_sockaddr *sa)
{
	struct fetch *f = user;
	bool open = f->is_issuer ? !inet_addr_never_open(&sa->addr)
				 : !inet_addr_is_private(&sa->addr) && !inet_addr_is_own(&sa->addr);

	(void)purpose;
	if (!open) {
		f->refused = true;
		return CURL_SOCKET_BAD;
	}
	return socket(sa->family, sa->socktype | SOCK_CLOEXEC, sa->protocol);
}

static size_t on_header(char *p, size_t size, size_t n, void *user)
{
	struct fetch *f = user;

	(void)p;
	return ++f->n_headers > HEADERS_MAX ? 0 : size * n;
}

static size_t on_body(char *p, size_t size, size_t n, void *user)
{
	struct fetch *f = user;

	buf_put(&f->body, p, size * n);
	f->too_large = f->body.bad;
	return f->body.bad ? 0 : size * n;
}

/* --- one request --- */

static void fetch_free(struct fetch *f)
{
	LIST_REMOVE(f, link);
	if (f->curl) {
		(void)curl_multi_remove_handle(f->of->multi, f->curl);
		curl_easy_cleanup(f->curl);
	}
	curl_slist_free_all(f->headers);
	if (f->post)
		explicit_bzero(f->post, strlen(f->post));
	free(f->post);
	if (f->body.p)
		explicit_bzero(f->body.p, f->body.n);
	buf_done(&f->body);
	free(f);
}

void fetch_cancel(struct fetch *f)
{
	if (f)
		fetch_free(f);
}

static bool add_header(struct fetch *f, const char *name, const char *value)
{
	autofree char *line = str_fmt("%s: %s", name, value);
	struct curl_slist *all = line ? curl_slist_append(f->headers, line) : NULL;

	if (all)
		f->headers = all;
	return all;
}

static void set_up(struct fetch *f, const char *url)
{
	struct curl_blob bundle = { f->of->bundle.p, f->of->bundle.n, CURL_BLOB_NOCOPY };
	CURL *c = f->curl;

	(void)curl_easy_setopt(c, CURLOPT_PRIVATE, f);
	(void)curl_easy_setopt(c, CURLOPT_URL, url);
	(void)curl_easy_setopt(c, CURLOPT_PROTOCOLS_STR, str_starts(str_of(url), "https:") ? "https" : "http");
	(void)curl_easy_setopt(c, CURLOPT_FOLLOWLOCATION, 0L);
	(void)curl_easy_setopt(c, CURLOPT_PROXY, ""); /* a proxy would hide the address from on_socket() */
	(void)curl_easy_setopt(c, CURLOPT_NETRC, (long)CURL_NETRC_IGNORED);
	(void)curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
	/* otherwise the cleanup waits for the thread that resolves the name */
	(void)curl_easy_setopt(c, CURLOPT_QUICK_EXIT, 1L);
	(void)curl_easy_setopt(c, CURLOPT_FORBID_REUSE, 1L); /* so that the address is checked each time */
	(void)curl_easy_setopt(c, CURLOPT_FRESH_CONNECT, 1L);
	(void)curl_easy_setopt(c, CURLOPT_USERAGENT, "atoll/" ATOLL_VERSION);
	(void)curl_easy_setopt(c, CURLOPT_TIMEOUT_MS, TIMEOUT_MS);
	(void)curl_easy_setopt(c, CURLOPT_CONNECTTIMEOUT_MS, CONNECT_MS);
	(void)curl_easy_setopt(c, CURLOPT_HTTPHEADER, f->headers);
	if (f->post)
		(void)curl_easy_setopt(c, CURLOPT_POSTFIELDS, f->post);
	(void)curl_easy_setopt(c, CURLOPT_CAINFO_BLOB, &bundle);
	(void)curl_easy_setopt(c, CURLOPT_CAPATH, NULL);
	(void)curl_easy_setopt(c, CURLOPT_OPENSOCKETFUNCTION, on_socket);
	(void)curl_easy_setopt(c, CURLOPT_OPENSOCKETDATA, f);
	(void)curl_easy_setopt(c, CURLOPT_HEADERFUNCTION, on_header);
	(void)curl_easy_setopt(c, CURLOPT_HEADERDATA, f);
	(void)curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, on_body);
	(void)curl_easy_setopt(c, CURLOPT_WRITEDATA, f);
}

static bool is_of_issuer(const struct fetcher *f, const char *url)
{
	struct webhook_url a, b;
	struct err e;

	return webhook_url_parse(str_of(url), &a, &e) == 0 && webhook_url_parse(str_of(f->issuer), &b, &e) == 0 &&
	    str_ieq(str_of(a.host), str_of(b.host));
}

int fetch_begin(struct fetcher *f, const struct fetch_spec *sp, struct fetch **ret)
{
	struct fetch *one = calloc(1, sizeof *one);

	if (!one)
		return -ENOMEM;
	*one = (struct fetch) { .of = f, .fn = sp->fn, .user = sp->user, .body = BUF_INIT(FETCH_BODY_MAX) };
	LIST_INSERT_HEAD(&f->all, one, link);
	one->is_issuer = is_of_issuer(f, sp->url);
	one->post = sp->post ? str_dup(str_of(sp->post)) : NULL;
	one->curl = curl_easy_init();
	if ((sp->post && !one->post) || !one->curl || !add_header(one, "Accept", "application/json") ||
	    (sp->authorization && !add_header(one, "Authorization", sp->authorization))) {
		fetch_free(one);
		return -ENOMEM;
	}
	set_up(one, sp->url);
	if (curl_multi_add_handle(f->multi, one->curl) != CURLM_OK) {
		fetch_free(one);
		return -ENOMEM;
	}
	*ret = one;
	return 0;
}

static const char *why_not(const struct fetch *f, CURLcode rc)
{
	if (f->refused)
		return "its address is private, or of this machine";
	if (f->too_large)
		return "its answer is too large";
	switch (rc) {
	case CURLE_COULDNT_RESOLVE_HOST:
		return "its name has no address";
	case CURLE_OPERATION_TIMEDOUT:
		return "no answer in time";
	case CURLE_PEER_FAILED_VERIFICATION:
	case CURLE_SSL_CONNECT_ERROR:
		return "its certificate is not trusted";
	default:
		return curl_easy_strerror(rc);
	}
}

/* The request is freed before its fn runs, which may begin another one. */
static void collect(struct fetcher *f)
{
	CURLMsg *m;
	int left;

	while ((m = curl_multi_info_read(f->multi, &left))) {
		struct fetch *one = NULL;
		CURLcode rc = m->data.result;
		long status = 0;

		if (m->msg != CURLMSG_DONE || curl_easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, &one) != CURLE_OK ||
		    !one)
			continue;
		if (rc == CURLE_OK)
			(void)curl_easy_getinfo(one->curl, CURLINFO_RESPONSE_CODE, &status);
		autobuf struct buf body = one->body;
		struct fetch_result r = { .status = (int)status,
			.body = buf_view(&body),
			.text = rc == CURLE_OK ? "" : why_not(one, rc) };
		fetch_fn *fn = one->fn;
		void *user = one->user;

		one->body = BUF_INIT(0);
		fetch_free(one);
		fn(user, &r);
		if (body.p)
			explicit_bzero(body.p, body.n);
	}
}

int fetcher_wait(struct fetcher *f, const int fds[2], bool ret_ready[2])
{
	struct curl_waitfd extra[2];
	unsigned n = 0, at[2];
	int running;

	for (unsigned i = 0; i < 2; i++) {
		ret_ready[i] = false;
		if (fds[i] < 0)
			continue;
		at[n] = i;
		extra[n++] = (struct curl_waitfd) { .fd = fds[i], .events = CURL_WAIT_POLLIN };
	}
	if (curl_multi_poll(f->multi, extra, n, LIST_EMPTY(&f->all) ? IDLE_MS : WAIT_MS, NULL) != CURLM_OK)
		return -EIO;
	for (unsigned i = 0; i < n; i++)
		ret_ready[at[i]] = extra[i].revents != 0;
	if (curl_multi_perform(f->multi, &running) != CURLM_OK)
		return -EIO;
	collect(f);
	return 0;
}

int fetcher_new(const char *issuer, const char *ca_file, struct fetcher **ret, struct err *e)
{
	struct fetcher *f = calloc(1, sizeof *f);

	if (!f)
		return err_set(e, ENOMEM, "out of memory");
	*f = (struct fetcher) { .issuer = issuer, .bundle = BUF_INIT(CA_BUNDLE_MAX) };
	LIST_INIT(&f->all);
	if (ca_bundle_read(&f->bundle, ca_file, e) < 0) {
		fetcher_free(f);
		return -e->no;
	}
	f->multi = curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK ? curl_multi_init() : NULL;
	if (!f->multi) {
		fetcher_free(f);
		return err_set(e, ENOMEM, "set up libcurl");
	}
	*ret = f;
	return 0;
}

void fetcher_free(struct fetcher *f)
{
	if (!f)
		return;
	while (!LIST_EMPTY(&f->all))
		fetch_free(LIST_FIRST(&f->all));
	if (f->multi)
		(void)curl_multi_cleanup(f->multi);
	buf_done(&f->bundle);
	free(f);
}
