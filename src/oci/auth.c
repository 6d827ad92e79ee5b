/* SPDX-License-Identifier: Apache-2.0 */
/* oci/auth: challenges, credentials, tokens. */
#include "oci/auth.h"

#include <stdlib.h>
#include <string.h>

#include "http/json.h"

#define CREDS_TEXT_MAX (64u << 10)
#define TOKEN_MAX (32u << 10)
#define AWS_FIELD_MAX 256

/* --- challenges --- */

static bool is_token_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	    (c && strchr("!#$%&'*+-.^_`|~", c));
}

static void skip_blanks(struct str *s)
{
	while (s->n > 0 && (s->p[0] == ' ' || s->p[0] == '\t' || s->p[0] == ','))
		str_skip(s, 1);
}

static struct str take_token(struct str *s)
{
	struct str t = { s->p, 0 };

	while (t.n < s->n && is_token_char(s->p[t.n]))
		t.n++;
	str_skip(s, t.n);
	return t;
}

/* Reads a quoted string with backslashes, or a token, into field. A value that does not fit leaves it empty. */
static bool take_value(struct str *s, char *field, size_t size)
{
	size_t n = 0;

	if (s->n == 0 || s->p[0] != '"') {
		struct str t = take_token(s);

		return t.n > 0 && str_copy(field, size, t);
	}
	str_skip(s, 1);
	while (s->n > 0 && s->p[0] != '"') {
		if (s->p[0] == '\\' && s->n > 1)
			str_skip(s, 1);
		if ((unsigned char)s->p[0] < 0x20 || n + 1 >= size)
			return false;
		field[n++] = s->p[0];
		str_skip(s, 1);
	}
	field[n] = '\0';
	if (s->n == 0)
		return false;
	str_skip(s, 1);
	return true;
}

/* Reads name=value, … up to the next scheme. false: malformed. */
static bool take_params(struct str *s, struct challenge *c)
{
	char other[512];

	for (;;) {
		skip_blanks(s);
		struct str before = *s, name = take_token(s);

		if (s->n == 0 || s->p[0] != '=') { /* the next scheme, or the end */
			*s = before;
			return name.n > 0 || s->n == 0;
		}
		str_skip(s, 1);
		char *field = str_ieq(name, STR_LIT("realm")) ? c->realm
		    : str_ieq(name, STR_LIT("service"))       ? c->service
		    : str_ieq(name, STR_LIT("scope"))         ? c->scope
							      : other;
		size_t size = field == c->service ? sizeof c->service : sizeof other;

		if (name.n == 0 || !take_value(s, field, size))
			return false;
	}
}

void challenge_parse(struct str header, struct challenge *ret)
{
	*ret = (struct challenge) { 0 };
	while (header.n > 0) {
		struct challenge c = { 0 };

		skip_blanks(&header);
		struct str scheme = take_token(&header);
		if (scheme.n == 0 || !take_params(&header, &c))
			return;
		c.kind = str_ieq(scheme, STR_LIT("bearer")) ? CHALLENGE_BEARER
		    : str_ieq(scheme, STR_LIT("basic"))     ? CHALLENGE_BASIC
							    : CHALLENGE_NONE;
		if (c.kind == CHALLENGE_NONE || (c.kind == CHALLENGE_BEARER && !c.realm[0]))
			continue;
		*ret = c;
		return;
	}
}

/* --- credentials --- */

static int copy_pair(const char *user, const char *password, struct creds *ret, struct err *e)
{
	if (strchr(user, ':'))
		return err_set(e, EINVAL, "field 'username' must not have a colon in it");
	struct creds c = { .user = str_dup(str_of(user)), .password = str_dup(str_of(password)) };

	if (!c.user || !c.password) {
		creds_done(&c);
		return err_set(e, ENOMEM, "read credentials: out of memory");
	}
	*ret = c;
	return 0;
}

/* A value in a header must not contain a line end. */
static bool is_plain(const char *z)
{
	size_t n = strlen(z);

	for (size_t i = 0; i < n; i++) {
		if (z[i] <= ' ' || z[i] > '~')
			return false;
	}
	return n > 0 && n <= AWS_FIELD_MAX;
}

static int read_aws(json_t *j, struct creds *ret, struct err *e)
{
	static const char *const names[] = { "awsAccessKeyId", "awsSecretAccessKey", "awsRegion" };
	const char *v[3] = { NULL };

	for (size_t i = 0; i < 3; i++) {
		if (json_need_str(j, names[i], &v[i], e) < 0)
			return err_wrap(e, "credentials of the registry");
		if (!is_plain(v[i]))
			return err_set(e, EINVAL,
			    "credentials of the registry: field '%s' must be 1 to %d printable characters without "
			    "blanks",
			    names[i], AWS_FIELD_MAX);
	}
	struct creds c = { .aws_id = str_dup(str_of(v[0])),
		.aws_secret = str_dup(str_of(v[1])),
		.aws_region = str_dup(str_of(v[2])) };

	if (!c.aws_id || !c.aws_secret || !c.aws_region) {
		creds_done(&c);
		return err_set(e, ENOMEM, "read credentials: out of memory");
	}
	*ret = c;
	return 0;
}

int creds_read(struct str json, struct creds *ret, struct err *e)
{
	autojson json_t *j = NULL;
	const char *type = NULL, *user = NULL, *password = NULL;

	*ret = (struct creds) { 0 };
	if (json.n > CREDS_TEXT_MAX)
		return err_set(e, EFBIG, "the credentials are too long");
	if (json_read_object(json, true, &j, e) < 0 || json_get_str(j, "type", &type, e) < 0)
		return err_wrap(e, "credentials of the registry");
	if (!type)
		return json_object_size(j) == 0
		    ? 0
		    : err_set(e, EINVAL, "credentials of the registry: field 'type' is missing");
	if (strcmp(type, "registry") == 0) {
		if (json_need_str(j, "username", &user, e) < 0 || json_need_str(j, "password", &password, e) < 0)
			return err_wrap(e, "credentials of the registry");
		return copy_pair(user, password, ret, e);
	}
	if (strcmp(type, "gcp") == 0) {
		if (json_need_str(j, "serviceAccountJson", &password, e) < 0)
			return err_wrap(e, "credentials of the registry");
		return copy_pair("_json_key", password, ret, e);
	}
	if (strcmp(type, "aws") == 0)
		return read_aws(j, ret, e);
	return err_set(e, EINVAL, "credentials of the registry: type '%.40s' is not one of registry, gcp, aws", type);
}

static void wipe(char **p)
{
	if (*p)
		explicit_bzero(*p, strlen(*p));
	free(*p);
	*p = NULL;
}

bool creds_any(const struct creds *c)
{
	return c->user || c->aws_id;
}

void creds_done(struct creds *c)
{
	wipe(&c->user);
	wipe(&c->password);
	wipe(&c->aws_id);
	wipe(&c->aws_secret);
	wipe(&c->aws_region);
}

void creds_put_basic(struct buf *out, const struct creds *c)
{
	autobuf struct buf pair = BUF_INIT(2 * CREDS_TEXT_MAX);

	buf_fmt(&pair, "%s:", c->user);
	buf_z(&pair, c->password);
	buf_z(out, "Authorization: Basic ");
	base64_encode(out, buf_view(&pair), true);
	out->bad |= pair.bad;
	if (pair.p)
		explicit_bzero(pair.p, pair.n);
}

int token_read(struct str json, char **ret, struct err *e)
{
	autojson json_t *j = NULL;
	const char *token = NULL;

	if (json_read_object(json, false, &j, e) < 0)
		return err_set(e, EBADMSG, "the registry's token service did not answer with JSON");
	if (json_get_str(j, "token", &token, e) < 0 || (!token && json_get_str(j, "access_token", &token, e) < 0) ||
	    !token || !*token)
		return err_set(e, EACCES, "the registry's token service gave no token");
	for (const char *c = token; *c; c++) {
		if (*c <= ' ' || *c > '~' || c - token > TOKEN_MAX) /* it becomes part of a header */
			return err_set(e, EBADMSG, "the registry's token service gave something that is no token");
	}
	*ret = str_dup(str_of(token));
	return *ret ? 0 : err_set(e, ENOMEM, "read a token: out of memory");
}
