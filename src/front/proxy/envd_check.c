/* SPDX-License-Identifier: Apache-2.0 */
/* front/proxy/envd_check: access tokens and signed file URLs. */
#include "front/proxy/envd_check.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/fd.h"
#include "front/util/token.h"
#include "http/url.h"

#define PATH_MAX_BYTES 1024
#define SIGNED_PATH_MAX 4096 /* no path of a file is longer */
#define SIGNED_USER_MAX 256
#define SIGNED_EXPIRY_MAX 20 /* digits of the largest number, and a sign */

/* Decoded, without empty and dot segments: the path as a lenient parser might read it. */
static void normalise(struct str raw, struct buf *out)
{
	autobuf struct buf plain = BUF_INIT(PATH_MAX_BYTES);

	if (url_decode(raw, false, &plain) < 0 || plain.bad)
		return;

	struct str rest = buf_view(&plain);

	while (rest.p) {
		struct str part = str_cut(&rest, '/');

		if (part.n == 0 || str_is(part, "."))
			continue;
		if (str_is(part, "..")) {
			while (out->n > 0 && out->p[--out->n] != '/')
				;
			continue;
		}
		buf_ch(out, '/');
		buf_str(out, part);
	}
}

bool envd_path_is_internal(struct str raw_path)
{
	static const char *const internal[] = { "/init", "/freeze", "/unfreeze", "/collapse", "/fsfreeze", "/fsthaw",
		"/upgrade" };
	autobuf struct buf path = BUF_INIT(PATH_MAX_BYTES);

	normalise(raw_path, &path);
	for (size_t i = 0; i < ARRAY_LEN(internal); i++) {
		if (str_ieq(buf_view(&path), str_of(internal[i])))
			return true;
	}
	return str_starts(buf_view(&path), "/atoll/"); /* used by the front only */
}

/* Returns "" if absent or malformed; then only a signature for the empty text can match. */
static char *param(struct str query, const char *name)
{
	char *v = NULL;

	return query_get(query, name, &v) == 0 ? v : NULL;
}

/* A signature that is too long or malformed is rejected without computing a hash. */
static bool is_possible(const struct signed_file *s)
{
	return strlen(s->signature) == SIGNATURE_SIZE - 2 && str_starts(str_of(s->signature), "v1_") &&
	    str_of(s->path).n <= SIGNED_PATH_MAX && str_of(s->user).n <= SIGNED_USER_MAX &&
	    str_of(s->expiry).n <= SIGNED_EXPIRY_MAX;
}

bool signed_file_parse(struct str method, struct str path, struct str query, struct signed_file *ret)
{
	bool reads = str_is(method, "GET");

	*ret = (struct signed_file) { .op = reads ? "read" : "write" };
	if (!str_is(path, "/files") || !(reads || str_is(method, "POST")))
		return false;
	ret->signature = param(query, "signature");
	if (!ret->signature)
		return false;
	ret->path = param(query, "path");
	ret->user = param(query, "username");
	ret->expiry = param(query, "signature_expiration");
	if (is_possible(ret))
		ret->signing = signing_new(str_of(ret->path), ret->op, str_of(ret->user));
	return true;
}

void signed_file_done(struct signed_file *s)
{
	free(s->signature);
	free(s->path);
	free(s->user);
	free(s->expiry);
	signing_free(s->signing);
}

bool signed_file_by(const struct signed_file *s, const char *token)
{
	char want[SIGNATURE_SIZE];

	if (!*token || !s->signing)
		return false;
	signing_make(s->signing, str_of(token), str_of(s->expiry), want);
	return secret_eq(str_of(s->signature), str_of(want));
}

static bool is_expired(const struct signed_file *s, uint64_t now_s)
{
	int64_t at;

	if (!s->expiry)
		return false;
	return str_to_i64(str_of(s->expiry), INT64_MIN, INT64_MAX, &at) < 0 || at < 0 || (uint64_t)at < now_s;
}

static int refuse(const char **ret, const char *message)
{
	*ret = message;
	return -EACCES;
}

static int check_files(struct str method, struct str query, struct str header_token, const char *token, uint64_t now_s,
    const char **ret)
{
	if (header_token.n > 0)
		return secret_eq(header_token, str_of(token))
		    ? 0
		    : refuse(ret, "access token present in header but does not match");

	autosigned struct signed_file s;

	if (!signed_file_parse(method, STR_LIT("/files"), query, &s))
		return refuse(ret, "missing signature query parameter");
	if (!signed_file_by(&s, token))
		return refuse(ret, "invalid signature");
	if (is_expired(&s, now_s))
		return refuse(ret, "signature is already expired");
	return 0;
}

static int check_header(struct str header_token, const char *token, const char **ret)
{
	if (header_token.n > 0 && secret_eq(header_token, str_of(token)))
		return 0;
	return refuse(ret,
	    header_token.n > 0 ? "access token does not match"
			       : "access token is missing: send it in the header X-Access-Token");
}

int envd_check(struct str method, struct str path, struct str query, struct str header_token, const char *token,
    uint64_t now_s, const char **ret_message)
{
	bool is_get = str_is(method, "GET");

	if (!*token || (is_get && str_is(path, "/health")))
		return 0;
	if (str_is(path, "/files") && (is_get || str_is(method, "POST")))
		return check_files(method, query, header_token, token, now_s, ret_message);
	return check_header(header_token, token, ret_message);
}

static bool is_context_id(struct str s)
{
	for (size_t i = 0; i < s.n; i++) {
		if (!isalnum((unsigned char)s.p[i]) && s.p[i] != '-' && s.p[i] != '_')
			return false;
	}
	return s.n > 0;
}

/* /contexts, /contexts/{id} and /contexts/{id}/restart, in their canonical spelling only: none of them runs code. */
static bool is_contexts(struct str path)
{
	struct str rest = path;

	if (str_is(path, "/contexts"))
		return true;
	if (!str_starts(path, "/contexts/"))
		return false;
	rest.p += strlen("/contexts/");
	rest.n -= strlen("/contexts/");

	struct str id = str_cut(&rest, '/');

	return is_context_id(id) && (!rest.p || str_is(rest, "restart"));
}

int interp_check(struct str method, struct str path, struct str header_token, const char *token, enum interp_token need,
    const char **ret_message)
{
	if (!*token || need == INTERP_TOKEN_NONE || (str_is(method, "GET") && str_is(path, "/health")))
		return 0;
	if (need == INTERP_TOKEN_EXECUTE && is_contexts(path))
		return 0;
	return check_header(header_token, token, ret_message);
}
