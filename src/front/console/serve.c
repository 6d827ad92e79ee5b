/* SPDX-License-Identifier: Apache-2.0 */
/* front/console/serve: finds a file, and sends it in pieces, so that a slow reader takes no memory. */
#include "front/console/serve.h"

#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/log.h"
#include "front/console/console.h"
#include "front/console/files.h"
#include "front/link/links.h"
#include "front/proxy/error.h"
#include "front/proxy/route.h"
#include "front/util/mem.h"
#include "front/util/session_cookie.h"
#include "http/server.h"
#include "loop/stream.h"

#define ROOT "/console"
#define PIECE (64u * 1024)
#define HEADERS_MAX 4096

/* Scripts and styles from its own files only, no inline code, no frame around it; pages of sandboxes in frames of
 * another origin. */
#define POLICY \
	"Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self';" \
	" img-src 'self' data: blob:; font-src 'self'; manifest-src 'self'; frame-ancestors 'none'; base-uri 'none';" \
	" form-action 'self'; require-trusted-types-for 'script'; frame-src 'self'"

/* The page in which the console shows HTML that a sandbox made: an origin of its own, which may load and reach
 * nothing. */
#define FRAME "frame.html"
#define FRAME_POLICY \
	"Content-Security-Policy: sandbox allow-scripts; default-src 'none'; script-src 'unsafe-inline';" \
	" style-src 'unsafe-inline'; img-src data: blob:; font-src data:; base-uri 'none'; form-action 'none';" \
	" frame-ancestors 'self'\r\nX-Frame-Options: SAMEORIGIN\r\n"

#define COMMON \
	"X-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\n" \
	"Cross-Origin-Opener-Policy: same-origin\r\nCross-Origin-Resource-Policy: same-origin\r\n" \
	"Permissions-Policy: camera=(), geolocation=(), microphone=(), payment=(), usb=()\r\n"
#define SAFETY "X-Frame-Options: DENY\r\n" COMMON

struct serving {
	struct console *console;
	struct http_req *rq;
	const struct file_form *form;
	size_t at;
};

bool console_is(const struct http_req *rq)
{
	struct str rest = rq->path;

	if (!str_starts(rest, ROOT))
		return false;
	str_skip(&rest, strlen(ROOT));
	return rest.n == 0 || (rest.p[0] == '/' && !str_starts(rest, "/api/"));
}

/* --- the domain of ports ------------------------------------------------------------------------------------- */

/* ":8080" at the end of a host, or "". */
static struct str port_of(struct str host)
{
	size_t n = host.n;

	while (n > 0 && host.p[n - 1] >= '0' && host.p[n - 1] <= '9')
		n--;
	return n > 0 && n < host.n && host.p[n - 1] == ':' ? (struct str) { host.p + n - 1, host.n - n + 1 }
							   : STR_LIT("");
}

static bool is_loopback(struct str host)
{
	struct str port = port_of(host);

	host.n -= port.n;
	return str_ieq(host, STR_LIT("localhost")) || str_is(host, "127.0.0.1") || str_is(host, "[::1]");
}

void console_port_domain(const struct console *c, const struct http_req *rq, struct buf *out)
{
	const struct front_options *o = &c->link->opt;
	struct str came_by = host_domain(rq->host);

	if (!o->domain_is_default && *o->domain) {
		buf_z(out, o->domain);
	} else if (came_by.n > 0) {
		buf_str(out, came_by);
	} else if (is_loopback(rq->host)) {
		buf_z(out, "localhost");
		buf_str(out, port_of(rq->host));
	}
}

/* --- a file -------------------------------------------------------------------------------------------------- */

static void send_more(struct serving *s)
{
	while (s->at < s->form->n && http_queued(s->rq) <= STREAM_HIGH) {
		size_t left = s->form->n - s->at, n = left < PIECE ? left : PIECE;

		http_write(s->rq, (struct str) { s->form->p + s->at, n });
		s->at += n;
		if (s->at == s->form->n)
			http_end(s->rq);
	}
}

static void on_drain(struct http_req *rq)
{
	send_more(rq->user);
}

static void on_close(struct http_req *rq, bool lost)
{
	struct serving *s = rq->user;

	(void)lost;
	links_request_over(s->console->link);
	free(s);
}

static const struct http_req_ops ops = { .on_drain = on_drain, .on_close = on_close };

static void put_policy(const struct console *c, const struct http_req *rq, struct buf *out)
{
	autobuf struct buf domain = BUF_INIT(256);

	console_port_domain(c, rq, &domain);
	buf_z(out, POLICY);
	if (domain.n > 0)
		buf_fmt(out, " %s://*.%.*s", browser_is_secure(rq) ? "https" : "http", (int)domain.n, domain.p);
	buf_z(out, "\r\n" SAFETY);
}

static void send_file(struct console *c, struct http_req *rq, const struct console_file *file)
{
	enum coding coding = console_file_choose(file, http_header_get(&rq->headers, "accept-encoding"));
	const struct file_form *form = &file->forms[coding];
	autobuf struct buf headers = BUF_INIT(HEADERS_MAX);

	if (strcmp(file->name, FRAME) == 0)
		buf_z(&headers, FRAME_POLICY COMMON);
	else
		put_policy(c, rq, &headers);
	buf_fmt(&headers, "ETag: %s\r\nVary: Accept-Encoding\r\nCache-Control: %s\r\n", form->etag,
	    file->is_hashed ? "public, max-age=31536000, immutable" : "no-cache");
	if (coding != CODING_NONE)
		buf_fmt(&headers, "Content-Encoding: %s\r\n", coding_name(coding));
	if (etag_listed(http_header_get(&rq->headers, "if-none-match"), form->etag)) {
		http_respond(rq, 304, NULL, buf_cstr(&headers), STR_NULL);
		return;
	}

	struct serving *s = must_alloc(sizeof *s);

	*s = (struct serving) { .console = c, .rq = rq, .form = form };
	rq->ops = &ops;
	rq->user = s;
	links_request_begun(c->link);
	http_begin(rq, 200, file->type, buf_cstr(&headers), (int64_t)form->n);
	if (form->n > 0)
		send_more(s);
	else
		http_end(rq);
}

static void send_note(struct http_req *rq, int status, const char *headers, const char *text)
{
	http_respond(rq, status, "text/plain; charset=utf-8", headers, str_of(text));
}

/* Views of the page have paths of their own, which name no file: their last part has no dot. */
static bool is_view(struct str name)
{
	const char *slash = name.n ? memrchr(name.p, '/', name.n) : NULL;
	struct str last = slash ? (struct str) { slash + 1, (size_t)(name.p + name.n - slash - 1) } : name;

	return !last.n || !memchr(last.p, '.', last.n);
}

void console_serve(struct console *c, struct http_req *rq)
{
	struct str name = rq->path;
	const struct console_file *file;

	if (!str_is(rq->method, "GET") && !str_is(rq->method, "HEAD")) {
		send_note(rq, 405, "Allow: GET, HEAD\r\n" SAFETY, "method not allowed\n");
		return;
	}
	str_skip(&name, strlen(ROOT));
	if (name.n == 0) { /* so that the names in the page are relative to it */
		send_note(rq, 308, "Location: " ROOT "/\r\nCache-Control: no-cache\r\n" SAFETY, "see " ROOT "/\n");
		return;
	}
	str_skip(&name, 1);
	file = c->files ? console_file_find(c->files, name) : NULL;
	if (!file && c->files && is_view(name))
		file = console_file_find(c->files, STR_LIT("index.html"));
	log_debug("console", "path=%.*s found=%d", (int)(rq->path.n < 128 ? rq->path.n : 128), rq->path.p,
	    file != NULL);
	if (file)
		send_file(c, rq, file);
	else
		send_note(rq, 404, "Cache-Control: no-store\r\n" SAFETY,
		    c->files ? "no such file\n" : "this server was built without the files of its console\n");
}
