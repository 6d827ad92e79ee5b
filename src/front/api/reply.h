/* SPDX-License-Identifier: Apache-2.0 */
/* front/api/reply: answers of the control API. Only the first answer to a request is sent. */
#pragma once

#include <jansson.h>

#include "base/err.h"
#include "base/str.h"

struct quota_hit;
struct req;

void reply_empty(struct req *r, int status);
void reply_json(struct req *r, int status, json_t *j,
    const char *headers); /* takes ownership of j; headers: "Name: value\r\n" lines or NULL */
/* text is JSON already. */
void reply_json_text(struct req *r, int status, struct str text, const char *headers);
void reply_text(struct req *r, const char *type, struct str text);
void reply_text_with(struct req *r, const char *type, struct str text, const char *headers);
void reply_error(struct req *r, int status, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
void reply_away(struct req *r); /* 503: the warden does not answer, and the request had no effect */
void reply_late(struct req *r); /* 503: the warden does not answer, but the request may still take effect */
/* 404 with the wording that clients look for. */
void reply_no_sandbox(struct req *r, struct str id);
void reply_err(struct req *r, const struct err *e); /* status from the errno: EINVAL 400, ENOENT 404, ... */

void reply_quota(struct req *r, const struct quota_hit *h); /* 429 */
