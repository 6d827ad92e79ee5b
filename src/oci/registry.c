/* SPDX-License-Identifier: Apache-2.0 */
/* oci/registry: the distribution API: challenges, redirects, retries, resumed blobs. */
#include "oci/registry.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "http/url.h"
#include "oci/aws.h"
#include "oci/httpget.h"

#define REDIRECTS_MAX 5
#define TRIES 5        /* without progress in between */
#define TRIES_MIRROR 2 /* before the next endpoint is tried */
#define TRIES_ALL 100  /* of one blob, with or without progress */
#define TOKEN_TEXT_MAX (64u << 10)
#define URL_MAX HTTPGET_URL_SIZE

#define ACCEPT \
	"Accept: application/vnd.oci.image.index.v1+json, application/vnd.oci.image.manifest.v1+json, " \
	"application/vnd.docker.distribution.manifest.list.v2+json, " \
	"application/vnd.docker.distribution.manifest.v2+json"

struct registry {
	struct registry_spec sp;
	struct endpoint at;
	struct httpget *http;
	struct buf auth; /* header line for this endpoint; empty: none yet */
};

struct registry *registry_new(const struct registry_spec *sp, struct err *e)
{
	struct registry *r = calloc(1, sizeof *r);

	if (r) {
		r->sp = *sp;
		r->auth = BUF_INIT(128u << 10);
		r->http = httpget_new(sp->policy, sp->stall_s);
	}
	if (!r || !r->http) {
		registry_free(r);
		(void)err_set(e, ENOMEM, "out of memory");
		return NULL;
	}
	return r;
}

void registry_free(struct registry *r)
{
	if (!r)
		return;
	if (r->auth.p)
		explicit_bzero(r->auth.p, r->auth.n);
	buf_done(&r->auth);
	httpget_free(r->http);
	free(r);
}

int registry_reopen(struct registry *r, struct err *e)
{
	/* the old handle's sockets belong to the parent process and must not be used */
	r->http = httpget_new(r->sp.policy, r->sp.stall_s);
	return r->http ? 0 : err_set(e, ENOMEM, "out of memory");
}

/* --- authentication --- */

static int into_buf(void *user, const void *p, size_t n, struct err *e)
{
	struct buf *b = user;

	buf_put(b, p, n);
	return b->bad ? err_set(e, EFBIG, "the answer is larger than %zu bytes", b->max) : 0;
}

static int token_url(struct registry *r, const struct challenge *c, struct buf *url, struct err *e)
{
	autobuf struct buf scope = BUF_INIT(1024);

	if (c->scope[0])
		buf_z(&scope, c->scope);
	else
		buf_fmt(&scope, "repository:%s%s%s:pull", r->at.path[0] ? r->at.path + 1 : "", r->at.path[0] ? "/" : "",
		    r->sp.ref->repo);
	buf_z(url, c->realm);
	buf_z(url, strchr(c->realm, '?') ? "&" : "?");
	if (c->service[0]) {
		buf_z(url, "service=");
		url_encode(url, str_of(c->service));
		buf_z(url, "&");
	}
	buf_z(url, "scope=");
	url_encode(url, buf_view(&scope));
	return url->bad || scope.bad
	    ? err_set(e, EBADMSG, "the registry's token service has an address that is too long")
	    : 0;
}

static int fetch_token(struct registry *r, const struct challenge *c, struct err *e)
{
	autobuf struct buf url = BUF_INIT(URL_MAX), basic = BUF_INIT(256u << 10), text = BUF_INIT(TOKEN_TEXT_MAX);
	struct httpget_spec sp = { .sink = into_buf, .user = &text, .small = true };
	struct httpget_answer a;
	autofree char *token = NULL;

	if (token_url(r, c, &url, e) < 0)
		return -e->no;
	sp.url = buf_cstr(&url);
	if (!sp.url || origin_parse(buf_view(&url), &sp.at, NULL) < 0)
		return err_set(e, EBADMSG, "the registry's token service has no proper address");
	/* Only if the operator has configured the registry, and the token service is that registry or another
	 * configured one. */
	sp.named = r->at.named && (origin_eq(&sp.at, &r->at.at) || policy_is_registry(r->sp.policy, &sp.at));
	if (r->sp.creds->user && !r->at.mirror) {
		creds_put_basic(&basic, r->sp.creds);
		sp.auth = buf_cstr(&basic);
	}
	int rc = httpget_run(r->http, &sp, &a, e);

	if (basic.p)
		explicit_bzero(basic.p, basic.n);
	if (rc < 0)
		return err_wrap(e, "ask for a token");
	if (a.status != 200)
		return err_set(e, EACCES, "the registry's token service refused (status %ld)%s", a.status,
		    r->sp.creds->user ? ": wrong user name or password?" : "");
	if (token_read(buf_view(&text), &token, e) < 0)
		return -e->no;
	buf_clear(&r->auth);
	buf_fmt(&r->auth, "Authorization: Bearer %s", token);
	return r->auth.bad ? err_set(e, EBADMSG, "the token is too long") : 0;
}

/* AWS returns a password for a signed request. The request goes to the API that belongs to the registry's host,
 * over the same scheme. */
static int ask_aws(struct registry *r, struct err *e)
{
	const struct creds *c = r->sp.creds;
	autobuf struct buf text = BUF_INIT(TOKEN_TEXT_MAX);
	char url[REF_HOST_SIZE + 16];
	struct httpget_spec sp = { .url = url,
		.at.http = r->at.at.http,
		.sink = into_buf,
		.user = &text,
		.small = true,
		.named = r->at.named };
	struct httpget_answer a;
	struct aws_place at;
	struct aws_call call;

	if (!aws_place_of(r->at.at.host, &at))
		return err_set(e, EINVAL,
		    "the credentials are those of AWS, whose registries are named ACCOUNT.dkr.ecr.REGION...; '%.100s' "
		    "is not",
		    r->at.at.host);
	if (strcmp(c->aws_region, at.region) != 0)
		return err_set(e, EINVAL, "field 'awsRegion' is '%.40s', but the registry is in '%s'", c->aws_region,
		    at.region);
	if (aws_sign(&at, c, time(NULL), &call, e) < 0)
		return -e->no;
	(void)snprintf(url, sizeof url, "%s://%s/", sp.at.http ? "http" : "https", at.host);
	(void)str_copy(sp.at.host, sizeof sp.at.host, str_of(at.host));
	sp.post = call.body;
	for (size_t i = 0; i < AWS_HEADERS; i++)
		sp.more[i] = buf_cstr(&call.header[i]);
	int rc = httpget_run(r->http, &sp, &a, e);

	aws_call_done(&call);
	if (rc < 0)
		return err_wrap(e, "ask AWS for a password");
	if (a.status != 200)
		return err_set(e, EACCES, "AWS refuses these credentials (status %ld): %.120s", a.status, a.text);
	rc = aws_read_answer(buf_view(&text), &r->auth, e);
	if (text.p)
		explicit_bzero(text.p, text.n);
	return rc;
}

/* Authenticates after a 401. */
static int log_in(struct registry *r, const struct challenge *c, struct err *e)
{
	if (r->sp.creds->aws_id && !r->at.mirror)
		return ask_aws(r, e);
	if (c->kind == CHALLENGE_BEARER)
		return fetch_token(r, c, e);
	buf_clear(&r->auth);
	if (c->kind != CHALLENGE_BASIC || !r->sp.creds->user || r->at.mirror)
		return err_set(e, EACCES, "'%.100s' wants a user name and a password", r->at.at.host);
	creds_put_basic(&r->auth, r->sp.creds);
	return r->auth.bad ? err_set(e, EINVAL, "the credentials are too long") : 0;
}

/* --- one request, over redirects and a challenge --- */

struct want {
	const char *path; /* relative to /v2/…/repo/ */
	const char *accept;
	uint64_t from;
	httpget_sink *sink;
	void *user;
	bool small;
};

static bool is_redirect(long status)
{
	return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

static int follow(struct registry *r, const struct want *w, struct httpget_answer *a, struct err *e)
{
	char url[URL_MAX];
	bool asked = false;

	int n = snprintf(url, sizeof url, "%s://%s/v2%s/%s/%s", r->at.at.http ? "http" : "https", r->at.at.host,
	    r->at.path, r->sp.ref->repo, w->path);
	if (n < 0 || (size_t)n >= sizeof url)
		return err_set(e, ENAMETOOLONG, "the address of a blob is too long");
	for (unsigned redirects = 0; redirects <= REDIRECTS_MAX;) {
		struct httpget_spec sp = { .url = url,
			.from = w->from,
			.sink = w->sink,
			.user = w->user,
			.small = w->small };

		if (origin_parse(str_of(url), &sp.at, NULL) < 0)
			return err_set(e, EBADMSG, "the registry redirects to something that is no address");
		bool home = origin_eq(&sp.at, &r->at.at);

		sp.named = home && r->at.named; /* redirect targets are not exempt from the policy */
		sp.accept = w->accept;
		sp.auth = home && r->auth.n > 0 ? buf_cstr(&r->auth) : NULL;
		if (httpget_run(r->http, &sp, a, e) < 0)
			return -e->no;
		if (a->status == 401 && home && !asked) {
			asked = true;
			if (log_in(r, &a->challenge, e) < 0)
				return -e->no;
			continue;
		}
		if (!is_redirect(a->status) || !a->location[0])
			return 0;
		(void)str_copy(url, sizeof url, str_of(a->location));
		redirects++;
	}
	return err_set(e, ELOOP, "the registry redirects more than %d times", REDIRECTS_MAX);
}

/* --- tries --- */

static void pause_ms(unsigned ms)
{
	const struct timespec ts = { .tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000 };

	(void)nanosleep(&ts, NULL);
}

static bool is_passing(int rc, const struct httpget_answer *a)
{
	if (a->failed_sink || a->refused)
		return false;
	if (rc < 0)
		return rc == -ETIMEDOUT || rc == -ECONNRESET || rc == -ECONNREFUSED || rc == -EHOSTUNREACH;
	return a->status == 408 || a->status == 429 || a->status >= 500;
}

static int judge(const struct registry *r, const struct httpget_answer *a, const char *what, struct err *e)
{
	if (a->status == 200 || a->status == 206)
		return 0;
	if (a->status == 404)
		return err_set(e, ENOENT, "'%.60s' has no %s of '%.80s'", r->at.at.host, what, r->sp.ref->repo);
	if (a->status == 401 || a->status == 403)
		return err_set(e, EACCES, "'%.60s' refuses access to '%.80s'%s", r->at.at.host, r->sp.ref->repo,
		    creds_any(r->sp.creds) ? " with these credentials" : " without credentials");
	if (a->status == 429)
		return err_set(e, EAGAIN, "'%.60s' says that there are too many requests", r->at.at.host);
	return err_set(e, EPROTO, "'%.60s' answers with status %ld: %.80s", r->at.at.host, a->status, a->text);
}

/* Fetches a small document; starts again if the connection breaks. */
static int fetch_text(struct registry *r, const char *path, const char *what, struct buf *ret, struct httpget_answer *a,
    unsigned tries, struct err *e)
{
	struct want w = { .path = path, .accept = ACCEPT, .sink = into_buf, .user = ret, .small = true };

	for (unsigned i = 0;; i++) {
		buf_clear(ret);
		*a = (struct httpget_answer) { 0 };
		*e = ERR_INIT;
		int rc = follow(r, &w, a, e);

		if (is_passing(rc, a) && i + 1 < tries) {
			pause_ms(a->retry_after_s ? a->retry_after_s * 1000 : 200u << i);
			continue;
		}
		return rc < 0 ? rc : judge(r, a, what, e);
	}
}

static int check_digest(struct str text, const struct digest *want, const char *what, struct err *e)
{
	struct digest got;

	digest_of(text, &got);
	return digest_eq(&got, want) ? 0
				     : err_set(e, EBADMSG, "digest mismatch: the %s is not what its digest says", what);
}

static int root_at(struct registry *r, struct buf *ret, struct digest *ret_digest, struct err *e)
{
	const struct ref *ref = r->sp.ref;
	struct httpget_answer a;
	char path[256], digest[DIGEST_TEXT_SIZE];

	digest_text(&ref->digest, digest);
	(void)snprintf(path, sizeof path, "manifests/%s", ref->pinned ? digest : ref->tag);
	if (fetch_text(r, path, ref->pinned ? "such image" : "such tag", ret, &a, r->at.mirror ? TRIES_MIRROR : TRIES,
		e) < 0)
		return -e->no;
	digest_of(buf_view(ret), ret_digest);
	if (ref->pinned)
		return check_digest(buf_view(ret), &ref->digest, "manifest", e);
	/* Not needed for security, as the tag promises no digest, but a corrupted document should not be used. */
	digest_text(ret_digest, digest);
	if (a.digest[0] && strncmp(a.digest, "sha256:", 7) == 0 && strcmp(a.digest, digest) != 0)
		return err_set(e, EBADMSG, "digest mismatch: the manifest is not what the registry says it is");
	return 0;
}

int registry_root(struct registry *r, struct buf *ret, struct digest *ret_digest, struct err *e)
{
	struct err first = ERR_INIT;

	for (size_t i = 0; policy_endpoint(r->sp.policy, r->sp.ref->host, i, &r->at); i++) {
		buf_clear(&r->auth);
		*e = ERR_INIT;
		if (root_at(r, ret, ret_digest, e) == 0)
			return 0;
		if (r->at.mirror && !first.no)
			first = *e;
	}
	/* A mirror's "not found" says more than that the registry itself is unreachable from here. */
	if (first.no && (e->no == EHOSTUNREACH || e->no == ECONNREFUSED || e->no == ETIMEDOUT))
		*e = first;
	return e->no ? -e->no : err_set(e, ENOENT, "no place to ask for '%.80s'", r->sp.ref->repo);
}

static int by_digest(struct registry *r, const char *kind, const struct blob *b, const char *what, struct buf *ret,
    struct err *e)
{
	struct httpget_answer a;
	char path[32 + DIGEST_TEXT_SIZE], digest[DIGEST_TEXT_SIZE];

	digest_text(&b->digest, digest);
	(void)snprintf(path, sizeof path, "%s/%s", kind, digest);
	if (fetch_text(r, path, what, ret, &a, TRIES, e) < 0)
		return -e->no;
	if (ret->n != b->size)
		return err_set(e, EBADMSG, "the %s has %zu bytes, not the %llu that were announced", what, ret->n,
		    (unsigned long long)b->size);
	return check_digest(buf_view(ret), &b->digest, what, e);
}

int registry_manifest(struct registry *r, const struct blob *b, struct buf *ret, struct err *e)
{
	return by_digest(r, "manifests", b, "manifest", ret, e);
}

int registry_small_blob(struct registry *r, const struct blob *b, struct buf *ret, struct err *e)
{
	return by_digest(r, "blobs", b, "configuration", ret, e);
}

/* --- a layer --- */

struct flow {
	int fd;
	uint64_t got, size;
};

static int into_fd(void *user, const void *p, size_t n, struct err *e)
{
	struct flow *f = user;

	if (n > f->size - f->got)
		return err_set(e, EBADMSG, "a layer is longer than the %llu bytes that were announced",
		    (unsigned long long)f->size);
	int rc = fd_write_all(f->fd, p, n);

	if (rc < 0)
		return err_set(e, -rc, "pass on a layer: %s", strerror(-rc));
	f->got += n;
	return 0;
}

int registry_blob(struct registry *r, const struct blob *b, int fd, struct err *e)
{
	struct flow f = { .fd = fd, .size = b->size };
	char path[32 + DIGEST_TEXT_SIZE], digest[DIGEST_TEXT_SIZE];
	struct want w = { .path = path, .sink = into_fd, .user = &f };
	struct httpget_answer a;

	digest_text(&b->digest, digest);
	(void)snprintf(path, sizeof path, "blobs/%s", digest);
	for (unsigned idle = 0, all = 0; all < TRIES_ALL; all++) {
		uint64_t before = w.from = f.got;

		a = (struct httpget_answer) { 0 };
		*e = ERR_INIT;
		int rc = follow(r, &w, &a, e);
		if (rc == 0 && judge(r, &a, "layer", e) == 0) {
			if (f.got == f.size)
				return 0;
			rc = err_set(e, ECONNRESET, "a layer ended after %llu of %llu bytes", (unsigned long long)f.got,
			    (unsigned long long)f.size);
		}
		if (!is_passing(rc, &a) || ((idle = f.got > before ? 0 : idle + 1) == TRIES))
			return e->no ? -e->no : rc;
		pause_ms(a.retry_after_s ? a.retry_after_s * 1000 : 200u << idle);
	}
	return err_set(e, ECONNRESET, "a layer broke off %d times", TRIES_ALL);
}
