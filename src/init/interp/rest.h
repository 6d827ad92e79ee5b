/* SPDX-License-Identifier: Apache-2.0 */
/* interp_rest: the interpreter's requests except /execute, and its answers: errors are plain text here. */
#pragma once

struct err;
struct http_req;

void interp_reply_text(struct http_req *rq, int status, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
int rest_status(const struct err *e); /* the HTTP status for a context's error */
