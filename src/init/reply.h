/* SPDX-License-Identifier: Apache-2.0 */
/* reply: complete answers of the REST part of the API. */
#pragma once

#include <jansson.h>

struct http_req;

/* {"code":404,"message":"..."} */
void init_reply_error(struct http_req *rq, int status, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* As above, with additional header lines. */
void reply_refuse(struct http_req *rq, int status, const char *headers, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
void init_reply_json(struct http_req *rq, int status, const char *headers, const json_t *body);
