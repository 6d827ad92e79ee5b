/* SPDX-License-Identifier: Apache-2.0 */
/* client: errors, libcurl handles, and structs passed by callers. */
#include "client/client.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"

#define REASON_MAX 300 /* longest error text that is not JSON */

const char *atoll_version(void)
{
	return ATOLL_VERSION;
}

int client_fail(struct atoll_error *e, int no, int status, const char *fmt, ...)
{
	va_list ap;

	e->no = no;
	e->status = status;
	va_start(ap, fmt);
	(void)vsnprintf(e->text, sizeof(e->text), fmt, ap);
	va_end(ap);
	/* Part of the text may come from a server. It must stay on one line and must not control a terminal. */
	for (char *p = e->text; *p; p++) {
		if ((unsigned char)*p < 0x20 || *p == 0x7f)
			*p = *p == '\n' ? ' ' : '?';
	}
	return -no;
}

static void redact(char *text, const char *secret)
{
	size_t n = secret ? strlen(secret) : 0;
	char *at = text;

	while (n >= 4 && (at = strstr(at, secret))) {
		memcpy(at, "***", 3);
		memmove(at + 3, at + n, strlen(at + n) + 1);
	}
}

void client_redact(struct atoll_error *e, const struct atoll *a, const char *token)
{
	redact(e->text, a->api_key);
	redact(e->text, a->access_token);
	redact(e->text, token);
}

int client_no_memory(struct atoll_error *e)
{
	return client_fail(e, ENOMEM, 0, "out of memory");
}

int client_take_in(void *to, size_t size, const void *from, size_t first, struct atoll_error *e)
{
	size_t given;

	memcpy(&given, from, sizeof(given));
	if (given == 0)
		given = first;
	if (given < sizeof(given))
		return client_fail(e, EINVAL, 0, "the size field of an argument is neither 0 nor its size");
	for (size_t i = size; i < given; i++) {
		if (((const char *)from)[i])
			return client_fail(e, E2BIG, 0,
			    "an argument has fields that this version of libatoll does not know");
	}
	memset(to, 0, size);
	memcpy(to, from, given < size ? given : size);
	return 0;
}

static int errno_of_status(int status)
{
	switch (status) {
	case 400:
		return EINVAL;
	case 401:
		return EACCES;
	case 403:
		return EPERM;
	case 404:
		return ENOENT;
	case 409:
		return EBUSY;
	case 413:
		return EFBIG;
	case 429:
		return EAGAIN;
	case 502:
		return ESRCH; /* the sandbox has ended, or its port is closed */
	case 503:
		return EBUSY;
	case 504:
		return ETIMEDOUT;
	case 507:
		return ENOSPC;
	default:
		return EPROTO;
	}
}

int client_refused(struct atoll_error *e, int status, struct str body)
{
	int no = errno_of_status(status);
	json_t *j = json_loadb(body.p ? body.p : "", body.n, 0, NULL);
	const char *text = json_string_value(json_object_get(j, "message"));

	if (status >= 300 && status <= 399)
		client_fail(e, EPROTO, status, "the server returned a redirect (%d), which is not followed", status);
	else if (text)
		client_fail(e, no, status, "%s (%d)", text, status);
	else if (!j && body.n > 0 && body.n < REASON_MAX && body.p[0] != '<')
		client_fail(e, no, status, "%.*s (%d)", STR_ARG(body), status); /* the code service sends plain text */
	else
		client_fail(e, no, status, "the server returned status %d", status);
	json_decref(j);
	return -no;
}

int client_curl_failed(struct atoll_error *e, CURLcode rc, const char *url)
{
	switch (rc) {
	case CURLE_COULDNT_CONNECT:
		return client_fail(e, ECONNREFUSED, 0, "cannot connect to %s: is the server running?", url);
	case CURLE_COULDNT_RESOLVE_HOST:
		return client_fail(e, EHOSTUNREACH, 0, "cannot resolve the host of %s", url);
	case CURLE_OPERATION_TIMEDOUT:
		return client_fail(e, ETIMEDOUT, 0, "no response in time from %s", url);
	case CURLE_ABORTED_BY_CALLBACK:
		return client_fail(e, ECANCELED, 0, "interrupted");
	case CURLE_PEER_FAILED_VERIFICATION:
	case CURLE_SSL_CONNECT_ERROR:
	case CURLE_SSL_CACERT_BADFILE:
	case CURLE_SSL_ISSUER_ERROR:
		return client_fail(e, EKEYREJECTED, 0, "the certificate of %s is not trusted for that name (%s)", url,
		    curl_easy_strerror(rc));
	case CURLE_URL_MALFORMAT:
	case CURLE_UNSUPPORTED_PROTOCOL:
		return client_fail(e, EINVAL, 0, "'%s' is not an http or https URL", url);
	case CURLE_GOT_NOTHING:
	case CURLE_RECV_ERROR:
	case CURLE_SEND_ERROR:
	case CURLE_PARTIAL_FILE:
		return client_fail(e, ECONNRESET, 0, "the connection to %s was lost", url);
	case CURLE_OUT_OF_MEMORY:
		return client_no_memory(e);
	default:
		return client_fail(e, EIO, 0, "call %s: %s", url, curl_easy_strerror(rc));
	}
}

/* libcurl counts these calls itself, but only some builds do so under a lock. */
static pthread_mutex_t global_lock = PTHREAD_MUTEX_INITIALIZER;

int global_begin(void)
{
	(void)pthread_mutex_lock(&global_lock);
	CURLcode rc = curl_global_init(CURL_GLOBAL_DEFAULT);
	(void)pthread_mutex_unlock(&global_lock);
	return rc == CURLE_OK ? 0 : -ENOMEM;
}

void global_end(void)
{
	(void)pthread_mutex_lock(&global_lock);
	curl_global_cleanup();
	(void)pthread_mutex_unlock(&global_lock);
}

CURL *handle_take(struct atoll *a)
{
	CURL *h = NULL;

	(void)pthread_mutex_lock(&a->lock);
	if (a->n_idle > 0)
		h = a->idle[--a->n_idle]; /* most recently used: its connection is the least likely to be stale */
	(void)pthread_mutex_unlock(&a->lock);
	if (h)
		curl_easy_reset(h);
	return h ? h : curl_easy_init();
}

void handle_give(struct atoll *a, CURL *h)
{
	(void)pthread_mutex_lock(&a->lock);
	if (h && a->n_idle < HANDLES_MAX) {
		a->idle[a->n_idle++] = h;
		h = NULL;
	}
	(void)pthread_mutex_unlock(&a->lock);
	curl_easy_cleanup(h);
}

int client_via(struct atoll *a, int (*open)(void *user), void (*give_back)(void *user, int fd, bool clean), void *user,
    const char *team, bool keyless, struct atoll_error *e)
{
	a->open = open;
	a->give_back = give_back;
	a->open_user = user;
	a->keyless = keyless;
	a->team = *team ? str_dup(str_of(team)) : NULL;
	if (*team && !a->team) {
		atoll_free(a);
		return client_no_memory(e);
	}
	return 0;
}

void atoll_set_stop(struct atoll *a, bool (*stop)(void *user), void *user)
{
	if (!a)
		return;
	a->stop = stop;
	a->stop_user = user;
}

int client_pairs_json(const struct atoll_pair *v, size_t n, json_t **ret, struct atoll_error *e)
{
	json_t *o = n == 0 || v ? json_object() : NULL;

	if (n > 0 && !v)
		return client_fail(e, EINVAL, 0, "%zu pairs of names and values are announced, but the pointer is NULL",
		    n);
	for (size_t i = 0; o && i < n; i++) {
		if (json_object_set_new(o, v[i].name, json_string(v[i].value)) == 0)
			continue;
		json_decref(o);
		return client_fail(e, EINVAL, 0, "'%s' or its value is not valid UTF-8", v[i].name);
	}
	if (!o)
		return client_no_memory(e);
	*ret = o;
	return 0;
}
