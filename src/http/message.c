/* SPDX-License-Identifier: Apache-2.0 */
/* http/message: llhttp in its strictest mode, with a few additional rules.
 *
 * The additional rules are checked first, over the bytes of the head: versions of llhttp differ in their leniency,
 * and differences in leniency between parsers are what makes request smuggling possible. */
#include "http/message.h"

#include <errno.h>

#include "base/fd.h"

#define JOIN_BELOW 4096 /* a larger piece of a body gets a callback of its own */
#define JOINED_ENOUGH (64 * 1024)

ssize_t head_find(struct str in, size_t *scanned)
{
	size_t at = *scanned;
	const char *lf;

	while (at < in.n && (lf = memchr(in.p + at, '\n', in.n - at))) {
		const char *line = in.p + at;
		size_t n = (size_t)(lf - line);

		if (n == 0 || lf[-1] != '\r' || memchr(line, '\r', n - 1) || memchr(line, '\0', n))
			return -EBADMSG;
		if (line[0] == ' ' || line[0] == '\t')
			return -EBADMSG;
		at += n + 1;
		if (at > HTTP_HEAD_MAX)
			return -E2BIG;
		if (n == 1)
			return (ssize_t)at;
	}
	*scanned = at;
	if (at < in.n && memchr(in.p + at, '\0', in.n - at))
		return -EBADMSG; /* not HTTP: possibly TLS */
	return in.n > HTTP_HEAD_MAX ? -E2BIG : 0;
}

static int refuse(struct message *m, int status, const char *why)
{
	m->refuse = status;
	m->why = why;
	return -EBADMSG;
}

/* llhttp may pass one text in several pieces; within one head they are contiguous. */
static int extend(struct str *s, const char *p, size_t n)
{
	if (!s->p)
		s->p = p;
	else if (s->p + s->n != p)
		return HPE_USER;
	s->n += n;
	return 0;
}

static int on_url(llhttp_t *p, const char *at, size_t n)
{
	return extend(&container_of(p, struct message, parser)->target, at, n);
}

static int on_header_field(llhttp_t *p, const char *at, size_t n)
{
	struct message *m = container_of(p, struct message, parser);
	struct http_headers *h = m->headers;

	if (!h)
		return 0; /* a trailer */
	if (h->n == 0 || m->in_value) {
		if (h->n == HTTP_HEADERS_MAX) {
			(void)refuse(m, 431, "too many header fields");
			return HPE_USER;
		}
		h->v[h->n++] = (struct http_header) { { NULL, 0 }, { NULL, 0 } };
		m->in_value = false;
	}
	return extend(&h->v[h->n - 1].name, at, n);
}

static int on_header_value(llhttp_t *p, const char *at, size_t n)
{
	struct message *m = container_of(p, struct message, parser);
	struct http_headers *h = m->headers;

	if (!h)
		return 0;
	m->in_value = true;
	return extend(&h->v[h->n - 1].value, at, n);
}

static int on_header_value_complete(llhttp_t *p)
{
	container_of(p, struct message, parser)->in_value = true;
	return 0;
}

static int on_headers_complete(llhttp_t *p)
{
	struct message *m = container_of(p, struct message, parser);

	m->keep_alive = llhttp_should_keep_alive(p);
	m->chunked = p->flags & F_CHUNKED;
	m->upgrade = p->upgrade;
	if (m->chunked)
		m->content_length = -1;
	else if (p->flags & F_CONTENT_LENGTH)
		m->content_length = p->content_length > INT64_MAX ? INT64_MAX : (int64_t)p->content_length;
	else
		m->content_length = llhttp_message_needs_eof(p) ? -1 : 0;
	if (m->tunnel && p->status_code / 100 == 2) {
		m->upgrade = true;
		return 2;
	}
	return m->no_body ? 1 : 0;
}

/* Pauses at each piece, so that the caller handles it without llhttp on the stack. */
static int on_body(llhttp_t *p, const char *at, size_t n)
{
	struct message *m = container_of(p, struct message, parser);

	if (n == 0)
		return 0;
	m->piece = (struct str) { at, n };
	return HPE_PAUSED;
}

static int on_message_complete(llhttp_t *p)
{
	container_of(p, struct message, parser)->done = true;
	return HPE_PAUSED;
}

static const llhttp_settings_t settings = {
	.on_url = on_url,
	.on_header_field = on_header_field,
	.on_header_value = on_header_value,
	.on_header_value_complete = on_header_value_complete,
	.on_headers_complete = on_headers_complete,
	.on_body = on_body,
	.on_message_complete = on_message_complete,
};

static int message_head(struct message *m, llhttp_type_t type, struct str head, struct http_headers *h)
{
	llhttp_init(&m->parser, type, &settings);
	m->headers = h;
	h->n = 0;
	m->target = STR_NULL;
	m->framing = 0;
	m->left = 0;
	m->refuse = 0;
	m->in_value = m->done = false;
	llhttp_errno_t no = llhttp_execute(&m->parser, head.p, head.n);
	m->headers = NULL;
	if (no != HPE_OK && no != HPE_PAUSED && no != HPE_PAUSED_UPGRADE) {
		if (m->refuse)
			return -EBADMSG;
		const char *why = llhttp_get_error_reason(&m->parser);
		return refuse(m, 400, why && *why ? why : "malformed head");
	}
	if (m->parser.http_major != 1 || m->parser.http_minor > 1)
		return refuse(m, 505, "only HTTP/1.0 and HTTP/1.1 are spoken here");
	for (size_t i = 0; i < h->n; i++) {
		struct http_header *f = &h->v[i];

		if (f->name.n == 0 || f->name.p[f->name.n] != ':')
			return refuse(m, 400, "blank in or behind a header name");
		f->value = str_trim(f->value);
	}
	m->left = !m->done && m->content_length > 0 ? m->content_length : 0;
	return 0;
}

static size_t count_fields(const struct http_headers *h, const char *name)
{
	struct str want = str_of(name);
	size_t n = 0;

	for (size_t i = 0; i < h->n; i++)
		n += str_ieq(h->v[i].name, want);
	return n;
}

/* Checks that the length of the body is unambiguous. */
static int check_framing(struct message *m, const struct http_headers *h)
{
	size_t lengths = count_fields(h, "content-length");
	size_t codings = count_fields(h, "transfer-encoding");

	if (lengths > 1)
		return refuse(m, 400, "more than one Content-Length");
	if (codings && lengths)
		return refuse(m, 400, "Content-Length with Transfer-Encoding");
	if (codings && m->parser.http_minor == 0)
		return refuse(m, 400, "Transfer-Encoding with HTTP/1.0");
	if (codings > 1 || (codings && !str_ieq(http_header_get(h, "transfer-encoding"), STR_LIT("chunked"))))
		return refuse(m, 501, "the only Transfer-Encoding known here is chunked");
	if (m->content_length == INT64_MAX)
		return refuse(m, 413, "Content-Length is too large");
	return 0;
}

int message_request(struct message *m, struct str head, struct http_headers *h)
{
	m->no_body = m->tunnel = false;
	int rc = message_head(m, HTTP_REQUEST, head, h);
	if (rc == 0)
		rc = check_framing(m, h);
	if (rc < 0)
		return rc;
	size_t hosts = count_fields(h, "host");
	if (hosts > 1 || (hosts == 0 && m->parser.http_minor == 1))
		return refuse(m, 400, hosts ? "more than one Host" : "Host is missing");
	if (m->parser.method == HTTP_CONNECT && m->content_length != 0)
		return refuse(m, 400, "CONNECT with a body");
	return 0;
}

int message_answer(struct message *m, struct str head, bool no_body, bool tunnel, struct http_headers *h)
{
	m->no_body = no_body;
	m->tunnel = tunnel;
	int rc = message_head(m, HTTP_RESPONSE, head, h);

	return rc < 0 ? rc : check_framing(m, h);
}

void message_skip(struct message *m, size_t n)
{
	m->left -= (int64_t)n;
	m->done = m->left == 0;
}

/* A body with a length needs no parsing, so llhttp does not see it; it may also be spliced. */
static int body_with_length(struct message *m, struct str *in, struct str *ret_piece)
{
	size_t n = (uint64_t)m->left < in->n ? (size_t)m->left : in->n;

	if (n == 0)
		return MESSAGE_MORE;
	*ret_piece = (struct str) { in->p, n };
	str_skip(in, n);
	message_skip(m, n);
	return MESSAGE_PIECE;
}

int message_body(struct message *m, struct str *in, struct str *ret_piece)
{
	const char *p = in->p ? in->p : "";

	if (m->refuse) /* reported before, after a piece that was returned first */
		return -EBADMSG;
	if (m->done)
		return MESSAGE_END;
	if (m->left > 0)
		return body_with_length(m, in, ret_piece);
	m->piece = STR_NULL;
	llhttp_errno_t no = llhttp_execute(&m->parser, p, in->n);
	size_t used = in->n;
	if (no == HPE_PAUSED || no == HPE_PAUSED_UPGRADE) {
		used = (size_t)(llhttp_get_error_pos(&m->parser) - p);
		if (no == HPE_PAUSED)
			llhttp_resume(&m->parser);
		else
			llhttp_resume_after_upgrade(&m->parser);
	} else if (no != HPE_OK) {
		const char *why = llhttp_get_error_reason(&m->parser);
		return refuse(m, 400, why && *why ? why : "malformed body");
	}
	str_skip(in, used);
	m->framing += m->piece.n ? (size_t)(m->piece.p - p) : used;
	if (m->framing > HTTP_FRAMING_MAX)
		return refuse(m, 400, "chunk extension or trailer too long");
	if (m->piece.n) {
		m->framing = 0;
		*ret_piece = m->piece;
		return MESSAGE_PIECE;
	}
	return m->done ? MESSAGE_END : MESSAGE_MORE;
}

int message_body_joined(struct message *m, struct str *in, struct buf *held, struct str *ret_piece)
{
	int rc;

	if (m->left > 0)
		return message_body(m, in, ret_piece);
	while ((rc = message_body(m, in, ret_piece)) == MESSAGE_PIECE) {
		if (held->n == 0 && (in->n == 0 || ret_piece->n >= JOIN_BELOW))
			return rc;
		buf_str(held, *ret_piece);
		if (ret_piece->n >= JOIN_BELOW || held->n >= JOINED_ENOUGH || held->bad)
			break;
	}
	if (held->bad)
		return -ENOMEM;
	if (held->n == 0)
		return rc;
	*ret_piece = buf_view(held);
	return MESSAGE_PIECE; /* an end or an error is returned by the next call */
}

bool message_eof(struct message *m)
{
	if (!m->done)
		(void)llhttp_finish(&m->parser);
	return m->done;
}

struct str http_header_get(const struct http_headers *h, const char *name)
{
	struct str want = str_of(name);

	for (size_t i = 0; i < h->n; i++)
		if (str_ieq(h->v[i].name, want))
			return h->v[i].value;
	return STR_NULL;
}

bool http_header_has_token(const struct http_headers *h, const char *name, const char *token)
{
	struct str want = str_of(name), tok = str_of(token);

	for (size_t i = 0; i < h->n; i++) {
		struct str list = h->v[i].value;

		if (!str_ieq(h->v[i].name, want))
			continue;
		while (list.p)
			if (str_ieq(str_trim(str_cut(&list, ',')), tok))
				return true;
	}
	return false;
}

static const struct reason {
	int status;
	const char *text;
} reasons[] = {
	{ 100, "Continue" },
	{ 101, "Switching Protocols" },
	{ 200, "OK" },
	{ 201, "Created" },
	{ 202, "Accepted" },
	{ 204, "No Content" },
	{ 206, "Partial Content" },
	{ 301, "Moved Permanently" },
	{ 302, "Found" },
	{ 303, "See Other" },
	{ 304, "Not Modified" },
	{ 307, "Temporary Redirect" },
	{ 308, "Permanent Redirect" },
	{ 400, "Bad Request" },
	{ 401, "Unauthorized" },
	{ 403, "Forbidden" },
	{ 404, "Not Found" },
	{ 405, "Method Not Allowed" },
	{ 406, "Not Acceptable" },
	{ 408, "Request Timeout" },
	{ 409, "Conflict" },
	{ 410, "Gone" },
	{ 411, "Length Required" },
	{ 412, "Precondition Failed" },
	{ 413, "Content Too Large" },
	{ 415, "Unsupported Media Type" },
	{ 416, "Range Not Satisfiable" },
	{ 417, "Expectation Failed" },
	{ 422, "Unprocessable Content" },
	{ 426, "Upgrade Required" },
	{ 429, "Too Many Requests" },
	{ 431, "Request Header Fields Too Large" },
	{ 499, "Client Closed Request" },
	{ 500, "Internal Server Error" },
	{ 501, "Not Implemented" },
	{ 502, "Bad Gateway" },
	{ 503, "Service Unavailable" },
	{ 504, "Gateway Timeout" },
	{ 505, "HTTP Version Not Supported" },
	{ 507, "Insufficient Storage" },
};

const char *http_reason(int status)
{
	for (size_t i = 0; i < ARRAY_LEN(reasons); i++)
		if (reasons[i].status == status)
			return reasons[i].text;
	return "Unknown";
}
