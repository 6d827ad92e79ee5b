/* SPDX-License-Identifier: Apache-2.0 */
/* dns: strict parsing, minimal output. */
#include "egress/dns.h"

#include <errno.h>
#include <string.h>

#define FLAG_QR 0x8000
#define FLAG_TC 0x0200
#define FLAG_RD 0x0100
#define FLAG_RA 0x0080
#define FLAG_CD 0x0010
#define ANSWERS_AT 6 /* offset of the answer count in the header */
#define NAME_POINTER 0xc000
#define OPCODE(flags) (((flags) >> 11) & 15)
#define LABEL_MAX 63
#define OPT_HEAD 11 /* root name, type, class, ttl, length */
#define OPT_DO 0x8000

struct in { /* a reader that cannot run past the end; `bad` is sticky */
	const uint8_t *p;
	size_t n;
	bool bad;
};

static uint8_t get8(struct in *in)
{
	if (in->bad || in->n < 1) {
		in->bad = true;
		return 0;
	}
	in->n--;
	return *in->p++;
}

static uint16_t get16(struct in *in)
{
	uint16_t hi = get8(in);

	return (uint16_t)(hi << 8 | get8(in));
}

static void skip(struct in *in, size_t n)
{
	if (in->bad || in->n < n) {
		in->bad = true;
		return;
	}
	in->p += n;
	in->n -= n;
}

static void put16(uint8_t **at, unsigned v)
{
	*(*at)++ = (uint8_t)(v >> 8);
	*(*at)++ = (uint8_t)v;
}

/* A name without compression: a question comes first, so there is nothing it could point back to. */
static void get_name(struct in *in, uint8_t name[DNS_NAME_MAX], uint8_t *ret_n)
{
	size_t n = 0;

	for (;;) {
		uint8_t len = get8(in);

		if (in->bad || len > LABEL_MAX || in->n < len || n + 1 + len > DNS_NAME_MAX) {
			in->bad = true;
			return;
		}
		name[n++] = len;
		if (len == 0)
			break;
		memcpy(name + n, in->p, len);
		n += len;
		skip(in, len);
	}
	*ret_n = (uint8_t)n;
}

/* The one additional record that is allowed: OPT, at the end of the message. */
static void get_opt(struct in *in, struct dns_query *q)
{
	uint8_t root = get8(in);
	uint16_t type = get16(in), size = get16(in);

	(void)get8(in); /* extended rcode */
	uint8_t version = get8(in);
	uint16_t flags = get16(in);

	skip(in, get16(in));
	if (root != 0 || type != DNS_TYPE_OPT || version != 0)
		in->bad = true;
	q->edns = true;
	q->dnssec_ok = flags & OPT_DO;
	q->udp_size = size < DNS_UDP_MIN ? DNS_UDP_MIN : size > DNS_UDP_MAX ? DNS_UDP_MAX : size;
}

int dns_parse_query(const void *p, size_t n, struct dns_query *ret)
{
	struct in in = { p, n, false };
	struct dns_query q = { .udp_size = DNS_UDP_MIN };

	*ret = q;
	if (n < DNS_HEADER)
		return -ENOMSG;
	q.id = ret->id = get16(&in);
	uint16_t flags = get16(&in);
	uint16_t questions = get16(&in), answers = get16(&in), authority = get16(&in), additional = get16(&in);

	if (flags & FLAG_QR)
		return -ENOMSG;
	if (OPCODE(flags) != 0)
		return -EOPNOTSUPP;
	if (questions != 1 || answers || authority || additional > 1)
		return -EBADMSG;
	q.recursion = flags & FLAG_RD;
	q.checking_off = flags & FLAG_CD;
	get_name(&in, q.name, &q.n_name);
	q.type = get16(&in);
	q.class = get16(&in);
	if (additional)
		get_opt(&in, &q);
	if (in.bad || in.n > 0)
		return -EBADMSG;
	*ret = q;
	return 0;
}

static uint8_t *put_header(uint8_t *at, unsigned id, unsigned flags, unsigned questions, unsigned additional)
{
	put16(&at, id);
	put16(&at, flags);
	put16(&at, questions);
	put16(&at, 0);
	put16(&at, 0);
	put16(&at, additional);
	return at;
}

static uint8_t *put_question(uint8_t *at, const struct dns_query *q)
{
	memcpy(at, q->name, q->n_name);
	at += q->n_name;
	put16(&at, q->type);
	put16(&at, q->class);
	return at;
}

static uint8_t *put_opt(uint8_t *at, const struct dns_query *q)
{
	*at++ = 0;
	put16(&at, DNS_TYPE_OPT);
	put16(&at, DNS_UDP_MAX);
	put16(&at, 0);
	put16(&at, q->dnssec_ok ? OPT_DO : 0);
	put16(&at, 0);
	return at;
}

size_t dns_build_query(const struct dns_query *q, uint16_t id, uint8_t out[DNS_QUERY_MAX])
{
	uint8_t *at = put_header(out, id, (q->recursion ? FLAG_RD : 0) | (q->checking_off ? FLAG_CD : 0), 1, q->edns);

	at = put_question(at, q);
	if (q->edns)
		at = put_opt(at, q);
	return (size_t)(at - out);
}

static bool same_name(const uint8_t *a, const uint8_t *b, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		uint8_t x = a[i] >= 'A' && a[i] <= 'Z' ? a[i] | 0x20 : a[i];
		uint8_t y = b[i] >= 'A' && b[i] <= 'Z' ? b[i] | 0x20 : b[i];

		if (x != y) /* lengths are below 'A', so folding does not change them */
			return false;
	}
	return true;
}

int dns_check_answer(const void *p, size_t n, const struct dns_query *q, uint16_t id, struct dns_answer *ret)
{
	struct in in = { p, n, false };
	uint8_t name[DNS_NAME_MAX], n_name = 0;

	uint16_t got = get16(&in), flags = get16(&in), questions = get16(&in);
	skip(&in, 6);
	if (in.bad || got != id || !(flags & FLAG_QR) || OPCODE(flags) != 0)
		return -EBADMSG;
	*ret = (struct dns_answer) { .rcode = flags & 15, .truncated = flags & FLAG_TC };
	/* Some servers leave the question out when they return an error. */
	if (questions == 0 && ret->rcode != DNS_NOERROR && ret->rcode != DNS_NXDOMAIN && in.n == 0)
		return 0;
	if (questions != 1)
		return -EBADMSG;
	get_name(&in, name, &n_name);
	uint16_t type = get16(&in), class = get16(&in);

	if (in.bad || type != q->type || class != q->class || n_name != q->n_name || !same_name(name, q->name, n_name))
		return -EBADMSG;
	return 0;
}

size_t dns_build_reply(const struct dns_query *q, uint8_t rcode, bool truncated, uint8_t out[DNS_QUERY_MAX])
{
	unsigned flags = FLAG_QR | FLAG_RA | (q->recursion ? FLAG_RD : 0) | (truncated ? FLAG_TC : 0) | rcode;
	uint8_t *at = put_header(out, q->id, flags, q->n_name > 0, q->edns && q->n_name > 0);

	if (q->n_name > 0) {
		at = put_question(at, q);
		if (q->edns)
			at = put_opt(at, q);
	}
	return (size_t)(at - out);
}

size_t dns_build_address(const struct dns_query *q, uint32_t ip, uint32_t ttl_s, uint8_t out[DNS_ADDRESS_MAX])
{
	unsigned flags = FLAG_QR | FLAG_RA | (q->recursion ? FLAG_RD : 0);
	uint8_t *at = put_question(put_header(out, q->id, flags, 1, q->edns), q);

	out[ANSWERS_AT + 1] = 1;
	put16(&at, NAME_POINTER | DNS_HEADER); /* a pointer to the name in the question */
	put16(&at, DNS_TYPE_A);
	put16(&at, DNS_CLASS_IN);
	put16(&at, (uint16_t)(ttl_s >> 16));
	put16(&at, (uint16_t)ttl_s);
	put16(&at, 4);
	put16(&at, (uint16_t)(ip >> 16));
	put16(&at, (uint16_t)ip);
	if (q->edns)
		at = put_opt(at, q);
	return (size_t)(at - out);
}

bool dns_name_ends(const struct dns_query *q, const char *label)
{
	size_t want = strlen(label), at = 0, last = 0;

	if (want > LABEL_MAX)
		return false;
	while (at < q->n_name && q->name[at] != 0) {
		last = at;
		at += 1u + q->name[at];
	}
	return at > 0 && q->name[last] == want && same_name(q->name + last + 1, (const uint8_t *)label, want);
}

bool dns_name_text(const struct dns_query *q, char *ret, size_t size)
{
	size_t at = 0, n = 0;

	while (at < q->n_name && q->name[at] != 0) {
		size_t len = q->name[at++];

		if (n + len + 2 > size)
			return false;
		if (n)
			ret[n++] = '.';
		for (size_t i = 0; i < len; i++) {
			char c = (char)q->name[at + i];

			if (c >= 'A' && c <= 'Z')
				c = (char)(c | 0x20);
			if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_'))
				return false;
			ret[n++] = c;
		}
		at += len;
	}
	ret[n] = '\0';
	return n > 0;
}

int dns_query_for(struct str name, uint16_t type, struct dns_query *ret)
{
	struct dns_query q = { .type = type, .class = DNS_CLASS_IN, .recursion = true, .udp_size = DNS_UDP_MAX };

	if (name.n == 0 || name.n > DNS_NAME_MAX - 2)
		return -EINVAL;
	while (name.p) {
		struct str label = str_cut(&name, '.');

		if (label.n == 0 || label.n > LABEL_MAX)
			return -EINVAL;
		q.name[q.n_name++] = (uint8_t)label.n;
		memcpy(q.name + q.n_name, label.p, label.n);
		q.n_name = (uint8_t)(q.n_name + label.n);
	}
	q.name[q.n_name++] = 0;
	*ret = q;
	return 0;
}

/* Skips a name in an answer, which may end in a compression pointer. */
static void skip_name(struct in *in)
{
	for (;;) {
		uint8_t len = get8(in);

		if (in->bad || len == 0)
			return;
		if (len >= 0xc0) {
			(void)get8(in);
			return;
		}
		if (len > LABEL_MAX)
			in->bad = true;
		skip(in, len);
	}
}

int dns_addresses(const void *p, size_t n, uint32_t *ret, size_t max, uint32_t *ret_ttl_s)
{
	struct in in = { p, n, false };
	size_t found = 0;

	*ret_ttl_s = UINT32_MAX;
	skip(&in, 4);
	uint16_t questions = get16(&in), answers = get16(&in);

	skip(&in, 4);
	for (uint16_t i = 0; i < questions; i++) {
		skip_name(&in);
		skip(&in, 4);
	}
	for (uint16_t i = 0; i < answers && !in.bad; i++) {
		skip_name(&in);
		uint16_t type = get16(&in), class = get16(&in);
		uint32_t ttl = (uint32_t)get16(&in) << 16;

		ttl |= get16(&in);
		uint16_t len = get16(&in);

		if (ttl < *ret_ttl_s)
			*ret_ttl_s = ttl;
		if (type != DNS_TYPE_A || class != DNS_CLASS_IN || len != 4 || found == max) {
			skip(&in, len);
			continue;
		}
		ret[found] = (uint32_t)get16(&in) << 16;
		ret[found++] |= get16(&in);
	}
	return in.bad ? -EBADMSG : (int)found;
}
