/* SPDX-License-Identifier: Apache-2.0 */
/* http/h2_head: converts fields to a struct http_req. */
#include "http/h2_head.h"

#include <errno.h>
#include <string.h>

#include "base/fd.h"

#define METHOD_MAX 32

static void refuse(struct h2_head *hd, int status, const char *why)
{
	if (hd->refuse)
		return;
	hd->refuse = status;
	hd->why = why;
}

void h2_head_begin(struct h2_head *hd)
{
	struct buf text = hd->text;

	if (!text.max)
		text = BUF_INIT(HTTP_HEAD_MAX);
	buf_clear(&text);
	hd->text = text;
	hd->n_fields = hd->total = 0;
	hd->method = hd->path = hd->authority = (struct h2_span) { 0, 0 };
	hd->refuse = 0;
	hd->why = NULL;
	hd->has_method = hd->has_path = hd->has_authority = false;
}

static struct h2_span keep(struct h2_head *hd, struct str s)
{
	struct h2_span span = { (uint32_t)hd->text.n, (uint32_t)s.n };

	buf_str(&hd->text, s);
	return span;
}

static struct str text_of(const struct h2_head *hd, struct h2_span s)
{
	return (struct str) { hd->text.p ? hd->text.p + s.at : "", s.n };
}

/* RFC 9110 5.6.2; capitals are not allowed in HTTP/2 field names. */
static bool is_token(struct str s, bool capitals)
{
	for (size_t i = 0; i < s.n; i++) {
		char c = s.p[i];
		bool ok = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || (capitals && c >= 'A' && c <= 'Z') ||
		    (c && strchr("!#$%&'*+-.^_`|~", c));

		if (!ok)
			return false;
	}
	return s.n > 0;
}

static bool is_value(struct str s)
{
	for (size_t i = 0; i < s.n; i++) {
		unsigned char c = (unsigned char)s.p[i];

		if ((c < ' ' && c != '\t') || c == 0x7f)
			return false;
	}
	return true;
}

/* Allowed in a request line or as a host: no blanks, no control characters. */
static bool is_word(struct str s)
{
	return is_value(s) && !memchr(s.p, ' ', s.n) && !memchr(s.p, '\t', s.n);
}

static void add_pseudo(struct h2_head *hd, struct str name, struct str value)
{
	struct {
		const char *name;
		struct h2_span *to;
		bool *has;
	} known[] = {
		{ ":method", &hd->method, &hd->has_method },
		{ ":path", &hd->path, &hd->has_path },
		{ ":authority", &hd->authority, &hd->has_authority },
	};

	for (size_t i = 0; i < ARRAY_LEN(known); i++) {
		if (!str_is(name, known[i].name))
			continue;
		if (*known[i].has)
			refuse(hd, 400, "the same pseudo-header twice");
		*known[i].has = true;
		*known[i].to = keep(hd, value);
		return;
	}
	if (!str_is(name, ":scheme"))
		refuse(hd, 400, "unknown pseudo-header");
}

/* Other fields may come between the parts, so the value of the first is replaced by a joined copy. */
static bool join_cookie(struct h2_head *hd, struct str value)
{
	for (size_t i = 0; i < hd->n_fields; i++) {
		if (!str_is(text_of(hd, hd->fields[i].name), "cookie"))
			continue;
		struct h2_span *v = &hd->fields[i].value;

		if (v->at + v->n != hd->text.n) {
			autobuf struct buf copy = BUF_INIT(HTTP_HEAD_MAX);

			buf_str(&copy, text_of(hd, *v));
			*v = keep(hd, buf_view(&copy));
		}
		buf_z(&hd->text, "; ");
		buf_str(&hd->text, value);
		v->n += (uint32_t)(2 + value.n);
		return true;
	}
	return false;
}

/* Fields that describe a connection, or framing that HTTP/2 does itself. */
static bool is_of_connection(struct str name)
{
	static const char *const names[] = { "connection", "keep-alive", "proxy-connection", "transfer-encoding",
		"upgrade" };

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		if (str_is(name, names[i]))
			return true;
	}
	return false;
}

static void add_field(struct h2_head *hd, struct str name, struct str value)
{
	if (!is_token(name, false) || !is_value(value))
		refuse(hd, 400, "malformed header field");
	else if (is_of_connection(name))
		refuse(hd, 400, "header field of a connection");
	else if (str_is(name, "cookie") && join_cookie(hd, value))
		return;
	else if (hd->n_fields == HTTP_HEADERS_MAX)
		refuse(hd, 431, "too many header fields");
	else {
		hd->fields[hd->n_fields].name = keep(hd, name);
		hd->fields[hd->n_fields++].value = keep(hd, value);
	}
}

void h2_head_add(struct h2_head *hd, struct str name, struct str value)
{
	hd->total += name.n + value.n + 4; /* as lines of HTTP/1.x, so that both have the same limit */
	if (hd->total > HTTP_HEAD_MAX)
		refuse(hd, 431, "request head is too large");
	if (hd->refuse)
		return;
	if (name.n > 0 && name.p[0] == ':')
		add_pseudo(hd, name, value);
	else
		add_field(hd, name, value);
	/* joined cookies may have filled the text: the last spans point beyond its end and must not be read */
	if (hd->text.bad)
		refuse(hd, 431, "request head is too large");
}

size_t h2_head_size(const struct h2_head *hd)
{
	return hd->text.n;
}

static struct str moved(const char *to, struct h2_span s)
{
	return (struct str) { to + s.at, s.n };
}

static int64_t length_of(struct h2_head *hd, const struct http_headers *h, bool has_body)
{
	struct str text = http_header_get(h, "content-length");
	uint64_t n;

	if (!text.p)
		return has_body ? -1 : 0;
	if (str_to_u64(text, INT64_MAX - 1, &n) < 0) {
		refuse(hd, 400, "malformed Content-Length");
		return 0;
	}
	return (int64_t)n;
}

static void check(struct h2_head *hd, const struct http_req *rq)
{
	size_t hosts = 0, lengths = 0;

	for (size_t i = 0; i < rq->headers.n; i++) {
		struct str name = rq->headers.v[i].name;

		hosts += str_is(name, "host");
		lengths += str_is(name, "content-length");
		if (str_is(name, "host") && hd->has_authority && !str_ieq(rq->headers.v[i].value, rq->host))
			refuse(hd, 400, "Host differs from :authority");
	}
	if (hosts > 1 || lengths > 1)
		refuse(hd, 400, hosts > 1 ? "more than one Host" : "more than one Content-Length");
	if (rq->host.n == 0 || !is_word(rq->host))
		refuse(hd, 400, rq->host.n ? "malformed :authority" : ":authority is missing");
	if (!is_token(rq->method, true) || rq->method.n > METHOD_MAX)
		refuse(hd, 400, "malformed :method");
	else if (str_is(rq->method, "CONNECT"))
		refuse(hd, 501, "CONNECT is not served over HTTP/2");
	else if (!is_word(rq->target) || (!str_starts(rq->target, "/") && !str_is(rq->target, "*")))
		refuse(hd, 400, "malformed :path");
}

int h2_head_fill(struct h2_head *hd, bool has_body, char *to, struct http_req *rq)
{
	if (hd->text.bad) { /* spans may point to text that did not fit */
		refuse(hd, 431, "request head is too large");
		hd->method = hd->path = hd->authority = (struct h2_span) { 0, 0 };
		hd->n_fields = 0;
	}
	if (hd->text.n)
		memcpy(to, hd->text.p, hd->text.n);
	rq->method = moved(to, hd->method);
	rq->target = rq->path = moved(to, hd->path);
	struct str rest = rq->target;
	rq->path = str_cut(&rest, '?');
	rq->query = rest.p ? rest : (struct str) { rq->path.p + rq->path.n, 0 };
	rq->headers.n = hd->n_fields;
	for (size_t i = 0; i < hd->n_fields; i++) {
		rq->headers.v[i].name = moved(to, hd->fields[i].name);
		rq->headers.v[i].value = str_trim(moved(to, hd->fields[i].value));
	}
	rq->host = hd->has_authority ? moved(to, hd->authority) : http_header_get(&rq->headers, "host");
	if (!rq->host.p)
		rq->host = STR_LIT("");
	rq->content_length = length_of(hd, &rq->headers, has_body);
	if (!hd->refuse)
		check(hd, rq);
	return hd->refuse ? -EBADMSG : 0;
}

void h2_head_done(struct h2_head *hd)
{
	buf_done(&hd->text);
}
