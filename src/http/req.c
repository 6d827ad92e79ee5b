/* SPDX-License-Identifier: Apache-2.0 */
/* http/req: what a handler may do with its request, for all protocols: answer whole or in pieces, abort, take over
 * the connection. */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "http/conn.h"
#include "loop/stream.h"

void http_respond(struct http_req *rq, int status, const char *content_type, const char *headers, struct str body)
{
	request_of(rq)->ops->respond(rq, status, content_type, headers, body);
}

void http_begin(struct http_req *rq, int status, const char *content_type, const char *headers, int64_t length)
{
	request_of(rq)->ops->begin(rq, status, content_type, headers, length);
}

void http_write(struct http_req *rq, struct str data)
{
	request_of(rq)->ops->write(rq, data);
}

ssize_t http_sendfile(struct http_req *rq, int fd, off_t *at, size_t n)
{
	const struct request_ops *ops = request_of(rq)->ops;

	return ops->sendfile ? ops->sendfile(rq, fd, at, n) : -EOPNOTSUPP;
}

size_t http_queued(const struct http_req *rq)
{
	return request_of(rq)->ops->queued(rq);
}

void http_end(struct http_req *rq)
{
	request_of(rq)->ops->end(rq);
}

void http_body_want(struct http_req *rq, bool on)
{
	request_of(rq)->ops->want(rq, on);
}

void http_share(struct http_req *rq, struct share *sh)
{
	request_of(rq)->ops->share(rq, sh);
}

void http_close_after(struct http_req *rq)
{
	request_of(rq)->keep = false;
}

void http_abort(struct http_req *rq)
{
	request_of(rq)->ops->abort(rq);
}

int http_hijack(struct http_req *rq, struct str raw_head, struct stream **ret, struct buf *ret_early)
{
	return request_of(rq)->ops->hijack(rq, raw_head, ret, ret_early);
}

void http_body_splice(struct http_req *rq, struct stream *to)
{
	const struct request_ops *ops = request_of(rq)->ops;

	if (ops->body_splice)
		ops->body_splice(rq, to);
}

struct stream *http_splice_to(const struct http_req *rq, uint64_t *ret_left)
{
	const struct request_ops *ops = request_of(rq)->ops;

	return ops->splice_to ? ops->splice_to(rq, ret_left) : NULL;
}

void http_moved(struct http_req *rq, size_t n)
{
	request_of(rq)->left -= (int64_t)n;
}

bool http_started(const struct http_req *rq)
{
	return request_of(rq)->started;
}

bool http_ended(const struct http_req *rq)
{
	return request_of(rq)->ended;
}

int http_peer(const struct http_req *rq, struct sockaddr_storage *ret)
{
	socklen_t n = sizeof *ret;

	memset(ret, 0, sizeof *ret);
	if (!rq->conn->s)
		return -ENOTCONN;
	return getpeername(stream_fd(rq->conn->s), (struct sockaddr *)ret, &n) < 0 ? -errno : 0;
}

bool http_is_secure(const struct http_req *rq)
{
	return rq->conn && rq->conn->secure;
}
