/* SPDX-License-Identifier: Apache-2.0 */
/* webhooks/send: requests with libcurl's multi interface. */
#include "webhooks/send.h"

#include <curl/curl.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/ca_bundle.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/inet.h"
#include "ipc/settings.h"

#define CONNECT_MAX_MS 10000L
#define HEAD_MAX (64 * 1024) /* bytes of all headers of an answer */
#define BODY_MAX (64 * 1024) /* bytes that are read */
#define WAIT_MS 1000

struct job {
	LIST_ENTRY(job) link;
	struct sender *sender;
	CURL *curl;
	struct curl_slist *headers;
	char *url, *body;
	struct hk_done done;
	uint64_t began_ms;
	size_t n_head, n_body;
	bool answered; /* the headers of a final answer are complete */
	bool refused;
};

struct sender {
	const struct webhooks_options *o;
	CURLM *multi;
	struct buf bundle; /* PEM */
	LIST_HEAD(, job) jobs;
	unsigned n_jobs;
	sender_fn *fn;
	void *user;
};

/* --- called by libcurl --- */

/* The last check before a packet is sent. */
static curl_socket_t on_socket(void *user, curlsocktype purpose, struct curl_sockaddr *sa)
{
	struct job *j = user;
	const struct webhooks_options *o = j->sender->o;
	bool open = (o->webhook_allow_private ? !inet_addr_never_open(&sa->addr) : !inet_addr_is_private(&sa->addr)) &&
	    (o->webhook_allow_own || !inet_addr_is_own(&sa->addr));

	(void)purpose;
	if (!open) {
		j->refused = true;
		return CURL_SOCKET_BAD;
	}
	return socket(sa->family, sa->socktype | SOCK_CLOEXEC, sa->protocol);
}

static void keep_header(struct job *j, struct str line)
{
	struct str value = line, name = str_cut(&value, ':');
	uint64_t n;

	while (value.p && value.n > 0 && (value.p[value.n - 1] == '\n' || value.p[value.n - 1] == '\r'))
		value.n--;
	if (!value.p || !str_ieq(str_trim(name), STR_LIT("retry-after")) ||
	    str_to_u64(str_trim(value), UINT32_MAX, &n) < 0)
		return;
	j->done.retry_after_s = n > HK_RETRY_AFTER_MAX_S ? HK_RETRY_AFTER_MAX_S : (uint32_t)n;
}

static size_t on_header(char *p, size_t size, size_t n, void *user)
{
	struct job *j = user;
	struct str line = { p, size * n };
	long status = 0;

	j->n_head += line.n;
	if (j->n_head > HEAD_MAX)
		return 0;
	if (str_starts(line, "HTTP/")) { /* earlier headers belong to an interim answer */
		j->done.retry_after_s = 0;
		return line.n;
	}
	if (str_is(line, "\r\n") || str_is(line, "\n")) {
		(void)curl_easy_getinfo(j->curl, CURLINFO_RESPONSE_CODE, &status);
		j->answered = status >= 200;
	} else {
		keep_header(j, line);
	}
	return line.n;
}

static size_t on_body(char *p, size_t size, size_t n, void *user)
{
	struct job *j = user;

	(void)p;
	j->n_body += size * n;
	return j->n_body > BODY_MAX ? 0 : size * n; /* enough: the status is known */
}

/* --- one job --- */

static void job_free(struct job *j)
{
	LIST_REMOVE(j, link);
	j->sender->n_jobs--;
	if (j->curl) {
		(void)curl_multi_remove_handle(j->sender->multi, j->curl);
		curl_easy_cleanup(j->curl);
	}
	curl_slist_free_all(j->headers);
	free(j->url);
	free(j->body);
	free(j);
}

static bool add_header(struct job *j, const char *name, const char *value)
{
	autofree char *line = str_fmt("%s%s%s", name, *value ? ": " : ":", value);
	struct curl_slist *all = line ? curl_slist_append(j->headers, line) : NULL;

	if (all)
		j->headers = all;
	return all;
}

static bool add_headers(struct job *j, const struct hk_job *m)
{
	char attempt[16];

	(void)snprintf(attempt, sizeof attempt, "%u", m->attempt);
	return add_header(j, "Content-Type", "application/json") && add_header(j, "Expect", "") &&
	    add_header(j, "e2b-webhook-id", m->webhook) && add_header(j, "e2b-delivery-id", m->try) &&
	    add_header(j, "atoll-delivery-id", m->delivery) && add_header(j, "e2b-signature-version", "v1") &&
	    add_header(j, "e2b-signature", m->signature) && add_header(j, "atoll-delivery-attempt", attempt);
}

static void set_up(struct job *j, const struct hk_job *m)
{
	struct curl_blob bundle = { j->sender->bundle.p, j->sender->bundle.n, CURL_BLOB_NOCOPY };
	CURL *c = j->curl;

	(void)curl_easy_setopt(c, CURLOPT_PRIVATE, j);
	(void)curl_easy_setopt(c, CURLOPT_URL, j->url);
	(void)curl_easy_setopt(c, CURLOPT_PROTOCOLS_STR, "http,https");
	(void)curl_easy_setopt(c, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
	(void)curl_easy_setopt(c, CURLOPT_FOLLOWLOCATION, 0L);
	(void)curl_easy_setopt(c, CURLOPT_PROXY, ""); /* a proxy would hide the address from on_socket() */
	(void)curl_easy_setopt(c, CURLOPT_NETRC, (long)CURL_NETRC_IGNORED);
	(void)curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
	/* otherwise the cleanup waits for the thread that resolves the name, and so do all other jobs */
	(void)curl_easy_setopt(c, CURLOPT_QUICK_EXIT, 1L);
	(void)curl_easy_setopt(c, CURLOPT_FORBID_REUSE, 1L); /* so that the address is checked each time */
	(void)curl_easy_setopt(c, CURLOPT_FRESH_CONNECT, 1L);
	(void)curl_easy_setopt(c, CURLOPT_USERAGENT, "atoll/" ATOLL_VERSION);
	(void)curl_easy_setopt(c, CURLOPT_TIMEOUT_MS, (long)m->timeout_ms);
	(void)curl_easy_setopt(c, CURLOPT_CONNECTTIMEOUT_MS,
	    m->timeout_ms < CONNECT_MAX_MS ? (long)m->timeout_ms : CONNECT_MAX_MS);
	(void)curl_easy_setopt(c, CURLOPT_HTTPHEADER, j->headers);
	(void)curl_easy_setopt(c, CURLOPT_POSTFIELDSIZE, (long)m->n_body);
	(void)curl_easy_setopt(c, CURLOPT_POSTFIELDS, j->body);
	(void)curl_easy_setopt(c, CURLOPT_CAINFO_BLOB, &bundle);
	(void)curl_easy_setopt(c, CURLOPT_CAPATH, NULL);
	(void)curl_easy_setopt(c, CURLOPT_OPENSOCKETFUNCTION, on_socket);
	(void)curl_easy_setopt(c, CURLOPT_OPENSOCKETDATA, j);
	(void)curl_easy_setopt(c, CURLOPT_HEADERFUNCTION, on_header);
	(void)curl_easy_setopt(c, CURLOPT_HEADERDATA, j);
	(void)curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, on_body);
	(void)curl_easy_setopt(c, CURLOPT_WRITEDATA, j);
}

int sender_add(struct sender *s, const struct hk_job *m, struct str url, struct str body)
{
	if (s->n_jobs >= HK_JOBS_MAX)
		return -EBUSY;
	struct job *j = calloc(1, sizeof *j);

	if (!j)
		return -ENOMEM;
	j->sender = s;
	LIST_INSERT_HEAD(&s->jobs, j, link);
	s->n_jobs++;
	j->done.head = (struct hk_head) { HK_VERSION, HK_DONE, m->head.seq };
	j->began_ms = clock_mono_ms();
	j->url = str_dup(url);
	j->body = str_dup(body);
	j->curl = curl_easy_init();
	if (!j->url || !j->body || !j->curl || !add_headers(j, m)) {
		job_free(j);
		return -ENOMEM;
	}
	set_up(j, m);
	if (curl_multi_add_handle(s->multi, j->curl) != CURLM_OK) {
		job_free(j);
		return -ENOMEM;
	}
	return 0;
}

static void say(struct hk_done *d, enum hk_outcome o, const char *text)
{
	d->outcome = o;
	(void)snprintf(d->text, sizeof d->text, "%s", text);
}

static void judge_status(struct hk_done *d)
{
	if (d->status >= 200 && d->status < 300) {
		say(d, HK_OK, "");
		return;
	}
	say(d, d->status >= 300 && d->status < 400 ? HK_REDIRECT : HK_STATUS, "");
	(void)snprintf(d->text, sizeof d->text, "answered %u%s", d->status,
	    d->outcome == HK_REDIRECT ? ", which is not followed" : "");
}

static void judge(struct job *j, CURLcode rc)
{
	struct hk_done *d = &j->done;
	long status = 0;

	(void)curl_easy_getinfo(j->curl, CURLINFO_RESPONSE_CODE, &status);
	d->took_ms = (uint32_t)(clock_mono_ms() - j->began_ms);
	d->status = j->answered && status > 0 && status <= 999 ? (uint32_t)status : 0;
	if (j->answered) { /* however its body ends */
		judge_status(d);
		return;
	}
	switch (rc) {
	case CURLE_COULDNT_RESOLVE_HOST:
		say(d, HK_RESOLVE, "its name has no address");
		break;
	case CURLE_OPERATION_TIMEDOUT:
		say(d, HK_TIMEOUT, "no answer in time");
		break;
	case CURLE_PEER_FAILED_VERIFICATION:
	case CURLE_SSL_CONNECT_ERROR:
	case CURLE_SSL_CACERT_BADFILE:
	case CURLE_SSL_CIPHER:
		say(d, HK_TLS, curl_easy_strerror(rc));
		break;
	case CURLE_COULDNT_CONNECT:
		say(d, j->refused ? HK_REFUSED : HK_CONNECT,
		    j->refused ? "its address is not a public one" : "could not connect");
		break;
	case CURLE_GOT_NOTHING:
	case CURLE_RECV_ERROR:
	case CURLE_SEND_ERROR:
		say(d, HK_CONNECT, "the connection broke off");
		break;
	case CURLE_WRITE_ERROR:
		say(d, HK_PROTOCOL, "the head of its answer is too long");
		break;
	default:
		say(d, HK_PROTOCOL, curl_easy_strerror(rc));
	}
}

/* --- all of them --- */

int sender_new(const struct webhooks_options *o, sender_fn *fn, void *user, struct sender **ret, struct err *e)
{
	struct sender *s = calloc(1, sizeof *s);

	if (!s)
		return err_set(e, ENOMEM, "out of memory");
	*s = (struct sender) { .o = o, .fn = fn, .user = user, .bundle = BUF_INIT(CA_BUNDLE_MAX) };
	LIST_INIT(&s->jobs);
	if (ca_bundle_read(&s->bundle, o->webhook_ca_file, e) < 0) {
		sender_free(s);
		return -e->no;
	}
	s->multi = curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK ? curl_multi_init() : NULL;
	if (!s->multi) {
		sender_free(s);
		return err_set(e, ENOMEM, "set up libcurl");
	}
	*ret = s;
	return 0;
}

void sender_drop_all(struct sender *s)
{
	while (!LIST_EMPTY(&s->jobs))
		job_free(LIST_FIRST(&s->jobs));
}

static void collect(struct sender *s)
{
	CURLMsg *m;
	int left;

	while ((m = curl_multi_info_read(s->multi, &left))) {
		struct job *j = NULL;
		CURLcode rc = m->data.result;

		if (m->msg != CURLMSG_DONE || curl_easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, &j) != CURLE_OK || !j)
			continue;
		judge(j, rc);
		struct hk_done done = j->done;

		job_free(j);
		s->fn(s->user, &done);
	}
}

int sender_wait(struct sender *s, const int fds[2], bool ret_ready[2])
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
	if (curl_multi_poll(s->multi, extra, n, s->n_jobs ? WAIT_MS : 60 * WAIT_MS, NULL) != CURLM_OK)
		return -EIO;
	for (unsigned i = 0; i < n; i++)
		ret_ready[at[i]] = extra[i].revents != 0;
	if (curl_multi_perform(s->multi, &running) != CURLM_OK)
		return -EIO;
	collect(s);
	return 0;
}

void sender_free(struct sender *s)
{
	if (!s)
		return;
	if (s->multi) {
		sender_drop_all(s);
		(void)curl_multi_cleanup(s->multi);
	}
	buf_done(&s->bundle);
	free(s);
}
