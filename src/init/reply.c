/* SPDX-License-Identifier: Apache-2.0 */
/* reply: complete answers of the REST part of the API. */
#include "init/reply.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/buf.h"
#include "base/fd.h"
#include "http/json.h"
#include "http/server.h"
#include "init/text.h"

#define REPLY_MAX (16 * 1024 * 1024)
#define NOSNIFF "X-Content-Type-Options: nosniff\r\n"

void init_reply_json(struct http_req *rq, int status, const char *headers, const json_t *body)
{
	autobuf struct buf out = BUF_INIT(REPLY_MAX);

	json_put(&out, body);
	if (out.bad)
		http_respond(rq, 500, "application/json", NULL,
		    STR_LIT("{\"code\":500,\"message\":\"the answer is too large\"}"));
	else
		http_respond(rq, status, "application/json; charset=utf-8", headers, buf_view(&out));
}

static void refuse(struct http_req *rq, int status, const char *headers, const char *fmt, va_list ap)
{
	autojson json_t *body = json_object();
	autofree char *text = NULL;

	if (vasprintf(&text, fmt, ap) < 0)
		text = NULL;
	(void)json_object_set_new(body, "code", json_integer(status));
	(void)json_object_set_new(body, "message", text_json(str_of(text ? text : "out of memory")));
	init_reply_json(rq, status, headers, body);
}

void init_reply_error(struct http_req *rq, int status, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	refuse(rq, status, NOSNIFF, fmt, ap);
	va_end(ap);
}

void reply_refuse(struct http_req *rq, int status, const char *headers, const char *fmt, ...)
{
	autofree char *all = str_fmt(NOSNIFF "%s", headers ? headers : "");
	va_list ap;

	va_start(ap, fmt);
	refuse(rq, status, all ? all : NOSNIFF, fmt, ap);
	va_end(ap);
}
