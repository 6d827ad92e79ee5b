/* SPDX-License-Identifier: Apache-2.0 */
/* oci/httpget: libcurl, restricted. */
#include "oci/httpget.h"

#include <arpa/inet.h>
#include <curl/curl.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/fd.h"

#define CONNECT_TIMEOUT_S 15
#define STALL_BYTES_S 64L /* a transfer slower than this during the whole stall time is aborted */
#define SMALL_STALLS 4    /* time limit of a document, in stall times */
#define HEADERS_MAX 200
#define RETRY_AFTER_MAX_S 30
#define ERROR_TEXT_MAX (64u << 10) /* the body of an error or a redirect is read to its end, up to this */

struct httpget {
	const struct policy *policy;
	unsigned stall_s;
	CURL *curl;
	/* of the current request */
	const struct httpget_spec *sp;
	struct httpget_answer *a;
	uint64_t skip; /* bytes to drop: the server ignored the range and sent the whole body */
	unsigned n_headers;
	size_t n_error; /* bytes of the body of an unsuccessful answer */
	bool range_checked;
	struct err e;
};

struct httpget *httpget_new(const struct policy *p, unsigned stall_s)
{
	struct httpget *h = calloc(1, sizeof *h);

	if (!h)
		return NULL;
	h->policy = p;
	h->stall_s = stall_s;
	h->curl = curl_easy_init();
	if (!h->curl) {
		free(h);
		return NULL;
	}
	return h;
}

void httpget_free(struct httpget *h)
{
	if (!h)
		return;
	curl_easy_cleanup(h->curl);
	free(h);
}

/* --- called by libcurl --- */

/* Checks the address of a connection before the socket is created. */
static curl_socket_t on_socket(void *user, curlsocktype purpose, struct curl_sockaddr *sa)
{
	struct httpget *h = user;
	char text[INET6_ADDRSTRLEN] = "?";

	(void)purpose;
	if (!h->sp->named && policy_is_closed(&sa->addr)) {
		if (sa->family == AF_INET)
			(void)inet_ntop(AF_INET, &((struct sockaddr_in *)(void *)&sa->addr)->sin_addr, text,
			    sizeof text);
		else if (sa->family == AF_INET6)
			(void)inet_ntop(AF_INET6, &((struct sockaddr_in6 *)(void *)&sa->addr)->sin6_addr, text,
			    sizeof text);
		h->a->refused = true;
		(void)err_set(&h->e, EPERM,
		    "'%.100s' leads to %s, which is not a public address; the operator can allow that registry "
		    "(registries)",
		    h->sp->at.host, text);
		return CURL_SOCKET_BAD;
	}
	return socket(sa->family, sa->socktype | SOCK_CLOEXEC, sa->protocol);
}

static void keep_header(struct httpget *h, struct str name, struct str value)
{
	struct httpget_answer *a = h->a;
	uint64_t n;

	if (str_ieq(name, STR_LIT("content-type"))) {
		(void)str_copy(a->type, sizeof a->type, value);
	} else if (str_ieq(name, STR_LIT("docker-content-digest"))) {
		(void)str_copy(a->digest, sizeof a->digest, value);
	} else if (str_ieq(name, STR_LIT("www-authenticate"))) {
		struct challenge c;

		challenge_parse(value, &c);
		if (c.kind > a->challenge.kind) /* Bearer is preferred over Basic */
			a->challenge = c;
	} else if (str_ieq(name, STR_LIT("retry-after")) && str_to_u64(value, 86400, &n) == 0) {
		a->retry_after_s = n > RETRY_AFTER_MAX_S ? RETRY_AFTER_MAX_S : (uint32_t)n;
	} else if (str_ieq(name, STR_LIT("content-range"))) {
		struct str first = value;

		/* "bytes 100-199/200" must start at the requested offset. */
		h->range_checked = str_starts(value, "bytes ");
		str_skip(&first, h->range_checked ? 6 : 0);
		first = str_cut(&first, '-');
		h->range_checked = h->range_checked && str_to_u64(first, INT64_MAX, &n) == 0 && n == h->sp->from;
	}
}

static size_t on_header(char *p, size_t size, size_t n, void *user)
{
	struct httpget *h = user;
	struct str value = { p, size * n }, name;

	if (++h->n_headers > HEADERS_MAX)
		return 0;
	if (str_starts(value, "HTTP/")) { /* an interim answer preceded this one */
		*h->a = (struct httpget_answer) { 0 };
		h->range_checked = false;
		return size * n;
	}
	name = str_cut(&value, ':');
	if (value.p) {
		while (value.n > 0 && (value.p[value.n - 1] == '\n' || value.p[value.n - 1] == '\r'))
			value.n--;
		keep_header(h, str_trim(name), str_trim(value));
	}
	return size * n;
}

static size_t on_body(char *p, size_t size, size_t n, void *user)
{
	struct httpget *h = user;
	size_t all = size * n, len = all;
	long status = 0;

	(void)curl_easy_getinfo(h->curl, CURLINFO_RESPONSE_CODE, &status);
	if (status != 200 && status != 206) {
		size_t has = strlen(h->a->text), room = sizeof h->a->text - 1 - has;

		for (size_t i = 0; i < len && i < room; i++)
			h->a->text[has + i] = (unsigned char)p[i] >= ' ' && (unsigned char)p[i] < 127 ? p[i] : ' ';
		h->n_error += all;
		if (h->n_error <= ERROR_TEXT_MAX)
			return all;
		h->a->refused = true; /* too long, and a retry would be no different */
		(void)err_set(&h->e, EPROTO, "'%.100s' answers with status %ld and more than %u bytes", h->sp->at.host,
		    status, ERROR_TEXT_MAX);
		return 0;
	}
	if (status == 206 && !h->range_checked) {
		(void)err_set(&h->e, EBADMSG, "the registry sent another part than the one asked for");
		return 0;
	}
	if (status == 200 && h->skip > 0) {
		size_t now = len < h->skip ? len : (size_t)h->skip;

		h->skip -= now;
		p += now;
		len -= now;
	}
	if (len > 0 && h->sp->sink(h->sp->user, p, len, &h->e) != 0) {
		h->a->failed_sink = true;
		return 0;
	}
	return all;
}

/* --- the request --- */

static void set_up(struct httpget *h, struct curl_slist *headers, char range[32])
{
	CURL *c = h->curl;

	curl_easy_reset(c);
	(void)curl_easy_setopt(c, CURLOPT_URL, h->sp->url);
	(void)curl_easy_setopt(c, CURLOPT_PROTOCOLS_STR, h->sp->at.http ? "http" : "https");
	(void)curl_easy_setopt(c, CURLOPT_FOLLOWLOCATION, 0L); /* redirects are checked and followed by registry.c */
	/* a proxy would hide the address from on_socket() */
	(void)curl_easy_setopt(c, CURLOPT_PROXY, "");
	(void)curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
	/* so that the connect timeout also applies to name resolution */
	(void)curl_easy_setopt(c, CURLOPT_QUICK_EXIT, 1L);
	(void)curl_easy_setopt(c, CURLOPT_USERAGENT, "atoll/" ATOLL_VERSION);
	(void)curl_easy_setopt(c, CURLOPT_CONNECTTIMEOUT, (long)CONNECT_TIMEOUT_S);
	(void)curl_easy_setopt(c, CURLOPT_LOW_SPEED_LIMIT, STALL_BYTES_S);
	(void)curl_easy_setopt(c, CURLOPT_LOW_SPEED_TIME, (long)h->stall_s);
	(void)curl_easy_setopt(c, CURLOPT_TIMEOUT, h->sp->small ? (long)h->stall_s * SMALL_STALLS : 0L);
	(void)curl_easy_setopt(c, CURLOPT_BUFFERSIZE, 256L << 10);
	(void)curl_easy_setopt(c, CURLOPT_HTTPHEADER, headers);
	(void)curl_easy_setopt(c, CURLOPT_HTTP_CONTENT_DECODING, 0L); /* digests are of the raw bytes */
	(void)curl_easy_setopt(c, CURLOPT_OPENSOCKETFUNCTION, on_socket);
	(void)curl_easy_setopt(c, CURLOPT_OPENSOCKETDATA, h);
	(void)curl_easy_setopt(c, CURLOPT_HEADERFUNCTION, on_header);
	(void)curl_easy_setopt(c, CURLOPT_HEADERDATA, h);
	(void)curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, on_body);
	(void)curl_easy_setopt(c, CURLOPT_WRITEDATA, h);
	if (h->sp->post)
		(void)curl_easy_setopt(c, CURLOPT_POSTFIELDS, h->sp->post);
	if (h->sp->from > 0) {
		(void)snprintf(range, 32, "%llu-", (unsigned long long)h->sp->from);
		(void)curl_easy_setopt(c, CURLOPT_RANGE, range);
	}
}

static int why_not(struct httpget *h, CURLcode rc, struct err *e)
{
	if (h->e.no) {
		*e = h->e;
		return -e->no;
	}
	switch (rc) {
	case CURLE_COULDNT_RESOLVE_HOST:
		return err_set(e, EHOSTUNREACH, "no address for '%.100s'", h->sp->at.host);
	case CURLE_OPERATION_TIMEDOUT:
		return err_set(e, ETIMEDOUT, "'%.100s' does not answer, or too slowly", h->sp->at.host);
	case CURLE_PARTIAL_FILE:
	case CURLE_RECV_ERROR:
	case CURLE_GOT_NOTHING:
		return err_set(e, ECONNRESET, "the connection to '%.100s' broke off", h->sp->at.host);
	case CURLE_PEER_FAILED_VERIFICATION:
	case CURLE_SSL_CONNECT_ERROR:
		return err_set(e, EPROTO, "no trusted TLS connection to '%.100s': %s", h->sp->at.host,
		    curl_easy_strerror(rc));
	default:
		return err_set(e, ECONNREFUSED, "ask '%.100s': %s", h->sp->at.host, curl_easy_strerror(rc));
	}
}

int httpget_run(struct httpget *h, const struct httpget_spec *sp, struct httpget_answer *ret, struct err *e)
{
	struct curl_slist *headers = NULL;
	char range[32];
	char *location = NULL;
	bool too_long = false;

	*ret = (struct httpget_answer) { 0 };
	h->sp = sp;
	h->a = ret;
	h->skip = sp->from;
	h->n_headers = 0;
	h->n_error = 0;
	h->range_checked = sp->from == 0;
	h->e = ERR_INIT;
	if (!policy_may_ask(h->policy, &sp->at)) {
		ret->refused = true;
		return err_set(e, EPERM,
		    "'%.100s' would be asked without TLS; the operator can allow that (registries = http://…)",
		    sp->at.host);
	}
	if (sp->accept)
		headers = curl_slist_append(headers, sp->accept);
	if (sp->auth)
		headers = curl_slist_append(headers, sp->auth);
	for (size_t i = 0; sp->post && i < ARRAY_LEN(sp->more) && sp->more[i]; i++)
		headers = curl_slist_append(headers, sp->more[i]);
	set_up(h, headers, range);
	CURLcode rc = curl_easy_perform(h->curl);

	(void)curl_easy_getinfo(h->curl, CURLINFO_RESPONSE_CODE, &ret->status);
	if (rc == CURLE_OK && curl_easy_getinfo(h->curl, CURLINFO_REDIRECT_URL, &location) == CURLE_OK && location)
		too_long = !str_copy(ret->location, sizeof ret->location, str_of(location));
	curl_off_t took_us = 0;

	if (rc == CURLE_OPERATION_TIMEDOUT && sp->small &&
	    curl_easy_getinfo(h->curl, CURLINFO_TOTAL_TIME_T, &took_us) == CURLE_OK &&
	    took_us >= (curl_off_t)h->stall_s * SMALL_STALLS *
		    900000)          /* the timer's clock and the transfer's differ slightly */
		ret->refused = true; /* not a stall: data arrived all the time */
	(void)curl_easy_setopt(h->curl, CURLOPT_HTTPHEADER, NULL);
	curl_slist_free_all(headers);
	if (too_long)
		return err_set(e, EPROTO, "'%.100s' redirects to an address of more than %d bytes", sp->at.host,
		    HTTPGET_URL_SIZE - 1);
	return rc == CURLE_OK ? 0 : why_not(h, rc, e);
}
