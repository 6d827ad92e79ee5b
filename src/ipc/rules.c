/* SPDX-License-Identifier: Apache-2.0 */
/* ipc/rules: encoding and decoding. */
#include "ipc/rules.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/inet.h"

/* Fields that frame a message or name its destination: only the proxy itself may set them. */
static const char *const never_set[] = {
	"host",
	"content-length",
	"transfer-encoding",
	"connection",
	"keep-alive",
	"upgrade",
	"te",
	"trailer",
	"expect",
	"http2-settings",
	"proxy-authorization",
	"proxy-connection",
	"proxy-authenticate",
};

struct rules *rules_new(void)
{
	return calloc(1, sizeof(struct rules));
}

void rules_free(struct rules *r)
{
	for (size_t i = 0; r && i < r->n; i++) {
		for (size_t k = 0; k < r->v[i].n_fields; k++) {
			struct rule_field *f = &r->v[i].fields[k];

			explicit_bzero(f->value, strlen(f->value));
			free(f->name);
		}
	}
	if (r) {
		free(r->socks.ca);
		explicit_bzero(r, sizeof *r);
	}
	free(r);
}

bool rules_field_name_ok(struct str name)
{
	static const char others[] = "!#$%&'*+-.^_`|~";

	if (name.n == 0 || name.n > RULES_NAME_MAX)
		return false;
	for (size_t i = 0; i < name.n; i++) {
		char c = name.p[i];

		if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
			(c && strchr(others, c))))
			return false;
	}
	for (size_t i = 0; i < ARRAY_LEN(never_set); i++) {
		if (str_ieq(name, str_of(never_set[i])))
			return false;
	}
	return true;
}

bool rules_field_value_ok(struct str value)
{
	for (size_t i = 0; i < value.n; i++) {
		unsigned char c = (unsigned char)value.p[i];

		if ((c < 0x20 && c != '\t') || c == 0x7f)
			return false;
	}
	return value.n <= RULES_VALUE_MAX;
}

int rules_add_field(struct rule *r, struct str name, struct str value, bool secret)
{
	if (r->n_fields == RULES_FIELDS_MAX)
		return -E2BIG;
	char *p = malloc(name.n + value.n + 2);

	if (!p)
		return -ENOMEM;
	memcpy(p, name.p, name.n);
	p[name.n] = '\0';
	memcpy(p + name.n + 1, value.p ? value.p : "", value.n);
	p[name.n + 1 + value.n] = '\0';
	r->fields[r->n_fields++] = (struct rule_field) { p, p + name.n + 1, secret };
	return 0;
}

static void put_short(struct buf *out, const char *z)
{
	size_t n = strlen(z);

	buf_ch(out, (char)n);
	buf_put(out, z, n);
}

static void put16(struct buf *out, size_t v)
{
	buf_ch(out, (char)(v & 255));
	buf_ch(out, (char)(v >> 8));
}

const struct rule *rules_for(const struct rules *r, const char *name)
{
	const struct rule *best = NULL;

	for (size_t i = 0; i < r->n; i++) {
		const struct rule *ru = &r->v[i];

		if (strcmp(ru->domain, name) == 0)
			return ru;
		if (policy_name_match(str_of(ru->domain), str_of(name)) &&
		    (!best || strlen(ru->domain) > strlen(best->domain)))
			best = ru;
	}
	return best;
}

void rules_encode(const struct rules *r, struct buf *out)
{
	bool socks = r->socks.host[0];
	struct rules_head h = { .flags = socks ? RULES_SOCKS | (r->socks.tls ? RULES_SOCKS_TLS : 0) : 0,
		.n_rules = (uint8_t)r->n };

	buf_put(out, &h, sizeof h);
	for (size_t i = 0; i < r->n; i++) {
		const struct rule *ru = &r->v[i];

		put_short(out, ru->domain);
		buf_ch(out, ru->broken ? RULE_BROKEN : 0);
		buf_ch(out, (char)ru->n_fields);
		for (size_t k = 0; k < ru->n_fields; k++) {
			const struct rule_field *f = &ru->fields[k];

			buf_ch(out, f->secret ? FIELD_SECRET : 0);
			put_short(out, f->name);
			put16(out, strlen(f->value));
			buf_z(out, f->value);
		}
	}
	if (socks) {
		put_short(out, r->socks.host);
		put16(out, r->socks.port);
		put_short(out, r->socks.user);
		put_short(out, r->socks.password);
	}
	if (socks && r->socks.tls) {
		put_short(out, r->socks.server_name);
		put16(out, r->socks.ca ? strlen(r->socks.ca) : 0);
		buf_z(out, r->socks.ca ? r->socks.ca : "");
	}
}

struct in { /* a bounds-checked reader; `bad` is sticky */
	struct str s;
	bool bad;
};

static struct str take(struct in *in, size_t n)
{
	if (in->bad || in->s.n < n) {
		in->bad = true;
		return STR_NULL;
	}
	struct str v = { in->s.p, n };

	str_skip(&in->s, n);
	return v;
}

static uint8_t take8(struct in *in)
{
	struct str v = take(in, 1);

	return v.p ? (uint8_t)v.p[0] : 0;
}

static uint16_t take16(struct in *in)
{
	uint8_t lo = take8(in);

	return (uint16_t)(lo | take8(in) << 8);
}

/* Reads text with a length byte into a field of that size; it must not contain a NUL. */
static bool take_text(struct in *in, char *to, size_t size)
{
	struct str v = take(in, take8(in));

	return !in->bad && str_copy(to, size, v) && strlen(to) == v.n;
}

static int decode_rule(struct in *in, struct rule *ru)
{
	if (!take_text(in, ru->domain, sizeof ru->domain) || !policy_name_ok(str_of(ru->domain)) ||
	    strcmp(ru->domain, "*") == 0)
		return -EBADMSG;
	uint8_t flags = take8(in), n = take8(in);

	if ((flags & ~RULE_BROKEN) || n > RULES_FIELDS_MAX)
		return -EBADMSG;
	ru->broken = flags & RULE_BROKEN;
	for (uint8_t i = 0; i < n; i++) {
		uint8_t field_flags = take8(in);
		struct str name = take(in, take8(in));
		struct str value = take(in, take16(in));

		if (in->bad || (field_flags & ~FIELD_SECRET) || !rules_field_name_ok(name) ||
		    !rules_field_value_ok(value))
			return -EBADMSG;
		int r = rules_add_field(ru, name, value, field_flags & FIELD_SECRET);

		if (r < 0)
			return r;
	}
	return 0;
}

static bool is_host(const char *host)
{
	struct inet_range ip;

	return (inet_parse(str_of(host), &ip) == 0 && ip.len == 32) || (policy_name_ok(str_of(host)) && host[0] != '*');
}

static int decode_tls(struct in *in, struct rules_socks *s)
{
	if (!take_text(in, s->server_name, sizeof s->server_name) || (s->server_name[0] && !is_host(s->server_name)))
		return -EBADMSG;
	struct str pem = take(in, take16(in));

	if (in->bad || pem.n > RULES_CA_MAX || (pem.n && memchr(pem.p, 0, pem.n)))
		return -EBADMSG;
	s->tls = true;
	s->ca = pem.n ? str_dup(pem) : NULL;
	return pem.n && !s->ca ? -ENOMEM : 0;
}

static int decode_socks(struct in *in, struct rules_socks *s)
{
	if (!take_text(in, s->host, sizeof s->host))
		return -EBADMSG;
	s->port = take16(in);
	if (!take_text(in, s->user, sizeof s->user) || !take_text(in, s->password, sizeof s->password) || in->bad ||
	    s->port == 0)
		return -EBADMSG;
	return is_host(s->host) && (s->user[0] || !s->password[0]) ? 0 : -EBADMSG;
}

static int decode(struct in *in, struct rules *r)
{
	struct rules_head h = { take8(in), take8(in) };
	int no = in->bad || (h.flags & ~(RULES_SOCKS | RULES_SOCKS_TLS)) || h.flags == RULES_SOCKS_TLS ||
		h.n_rules > RULES_DOMAINS_MAX
	    ? -EBADMSG
	    : 0;

	for (uint8_t i = 0; no == 0 && i < h.n_rules; i++) {
		r->n = (size_t)i + 1;
		no = decode_rule(in, &r->v[i]);
	}
	if (no == 0 && (h.flags & RULES_SOCKS))
		no = decode_socks(in, &r->socks);
	if (no == 0 && (h.flags & RULES_SOCKS_TLS))
		no = decode_tls(in, &r->socks);
	return no < 0 ? no : in->bad || in->s.n > 0 ? -EBADMSG : 0;
}

int rules_decode(const void *bytes, size_t n, struct rules **ret)
{
	struct in in = { { bytes, n }, n > RULES_MAX };
	struct rules *r = rules_new();
	int no = r ? decode(&in, r) : -ENOMEM;

	if (no < 0) {
		rules_free(r);
		return no;
	}
	*ret = r;
	return 0;
}
