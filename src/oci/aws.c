/* SPDX-License-Identifier: Apache-2.0 */
/* oci/aws: registry names, signatures, answers. */
#include "oci/aws.h"

#include <openssl/hmac.h>
#include <stdio.h>
#include <string.h>

#include "http/json.h"
#include "oci/digest.h"

#define TYPE "application/x-amz-json-1.1"
#define TARGET "AmazonEC2ContainerRegistry_V20150921.GetAuthorizationToken"
#define SIGNED "content-type;host;x-amz-date;x-amz-target"
#define BODY "{}"
#define TOKEN_MAX (32u << 10)
#define ACCOUNT_DIGITS 12
#define DATE_SIZE sizeof "20260101T000000Z"

static bool is_label(struct str s)
{
	for (size_t i = 0; i < s.n; i++) {
		if (!(s.p[i] >= 'a' && s.p[i] <= 'z') && !(s.p[i] >= '0' && s.p[i] <= '9') && s.p[i] != '-')
			return false;
	}
	return s.n > 0;
}

bool aws_place_of(const char *registry_host, struct aws_place *ret)
{
	struct str rest = str_of(registry_host);
	struct str account = str_cut(&rest, '.'), dkr = str_cut(&rest, '.'), ecr = str_cut(&rest, '.'),
		   region = str_cut(&rest, '.');
	struct aws_place p;

	if (account.n != ACCOUNT_DIGITS || strspn(account.p, "0123456789") < ACCOUNT_DIGITS || !str_is(dkr, "dkr") ||
	    !is_label(region) || !rest.n)
		return false;
	if (!str_is(ecr, "ecr") && !str_is(ecr, "ecr-fips"))
		return false;
	int n = snprintf(p.host, sizeof p.host, "%s%.*s.%.*s.%.*s", ecr.n == 3 ? "api." : "", STR_ARG(ecr),
	    STR_ARG(region), STR_ARG(rest));

	if (n < 0 || (size_t)n >= sizeof p.host || !str_copy(p.region, sizeof p.region, region))
		return false;
	*ret = p;
	return true;
}

/* --- the signature --- */

static void hex_of(struct str text, char ret[DIGEST_HEX_SIZE])
{
	struct digest d;

	digest_of(text, &d);
	digest_hex(&d, ret);
}

static void hmac(const void *key, size_t n, const char *text, struct digest *ret)
{
	unsigned len = sizeof ret->b;

	(void)HMAC(EVP_sha256(), key, (int)n, (const unsigned char *)text, strlen(text), ret->b, &len);
}

/* Derives a key for one day, region and service, so that the secret itself signs no request. */
static int signing_key(const char *secret, const char *day, const char *region, struct digest *ret)
{
	autobuf struct buf first = BUF_INIT(1024);
	struct digest k;

	buf_fmt(&first, "AWS4%s", secret);
	if (first.bad)
		return -E2BIG;
	hmac(first.p, first.n, day, &k);
	hmac(k.b, sizeof k.b, region, &k);
	hmac(k.b, sizeof k.b, "ecr", &k);
	hmac(k.b, sizeof k.b, "aws4_request", ret);
	explicit_bzero(first.p, first.n);
	explicit_bzero(&k, sizeof k);
	return 0;
}

static int sign(const struct aws_place *at, const struct creds *c, const char *date, struct buf *ret, struct err *e)
{
	autobuf struct buf request = BUF_INIT(4096), text = BUF_INIT(1024);
	char day[9], body[DIGEST_HEX_SIZE], whole[DIGEST_HEX_SIZE], scope[96], signature[DIGEST_HEX_SIZE];
	struct digest key, mark;

	(void)snprintf(day, sizeof day, "%.8s", date);
	(void)snprintf(scope, sizeof scope, "%s/%s/ecr/aws4_request", day, at->region);
	hex_of(STR_LIT(BODY), body);
	buf_fmt(&request,
	    "POST\n/\n\ncontent-type:" TYPE "\nhost:%s\nx-amz-date:%s\nx-amz-target:" TARGET "\n\n" SIGNED "\n%s",
	    at->host, date, body);
	hex_of(buf_view(&request), whole);
	buf_fmt(&text, "AWS4-HMAC-SHA256\n%s\n%s\n%s", date, scope, whole);
	if (request.bad || text.bad || signing_key(c->aws_secret, day, at->region, &key) < 0)
		return err_set(e, EINVAL, "the credentials of AWS are too long");
	hmac(key.b, sizeof key.b, buf_cstr(&text), &mark);
	digest_hex(&mark, signature);
	explicit_bzero(&key, sizeof key);
	buf_fmt(ret, "Authorization: AWS4-HMAC-SHA256 Credential=%s/%s, SignedHeaders=" SIGNED ", Signature=%s",
	    c->aws_id, scope, signature);
	return ret->bad ? err_set(e, EINVAL, "the credentials of AWS are too long") : 0;
}

int aws_sign(const struct aws_place *at, const struct creds *c, time_t now, struct aws_call *ret, struct err *e)
{
	struct aws_call call = { .body = BODY };
	char date[DATE_SIZE];
	struct tm tm;

	if (!gmtime_r(&now, &tm) || strftime(date, sizeof date, "%Y%m%dT%H%M%SZ", &tm) == 0)
		return err_set(e, EINVAL, "the clock of this host is wrong");
	for (size_t i = 0; i < AWS_HEADERS; i++)
		call.header[i] = BUF_INIT(2048);
	buf_z(&call.header[0], "Content-Type: " TYPE);
	buf_z(&call.header[1], "X-Amz-Target: " TARGET);
	buf_fmt(&call.header[2], "X-Amz-Date: %s", date);
	if (sign(at, c, date, &call.header[3], e) < 0) {
		aws_call_done(&call);
		return -e->no;
	}
	*ret = call;
	return 0;
}

void aws_call_done(struct aws_call *c)
{
	for (size_t i = 0; i < AWS_HEADERS; i++)
		buf_done(&c->header[i]);
}

/* --- the answer --- */

/* {"authorizationData": [{"authorizationToken": base64 of "AWS:PASSWORD", …}]} */
int aws_read_answer(struct str json, struct buf *ret_header, struct err *e)
{
	autojson json_t *j = NULL;
	const char *token = NULL;
	json_t *list = NULL;

	if (json_read_object(json, false, &j, e) < 0 || json_get_arr(j, "authorizationData", &list, e) < 0)
		return err_set(e, EBADMSG, "AWS did not answer as its API should");
	token = json_string_value(json_object_get(json_array_get(list, 0), "authorizationToken"));
	if (!token || !*token || strlen(token) > TOKEN_MAX ||
	    strspn(token, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=") != strlen(token))
		return err_set(e, EACCES, "AWS gave no password");
	buf_clear(ret_header);
	buf_fmt(ret_header, "Authorization: Basic %s", token);
	return ret_header->bad ? err_set(e, EBADMSG, "the password that AWS gave is too long") : 0;
}
