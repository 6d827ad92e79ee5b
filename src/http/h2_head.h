/* SPDX-License-Identifier: Apache-2.0 */
/* http/h2_head: converts the decoded fields of a request head to the form of HTTP/1.x. No I/O.
 *
 * nghttp2 has already checked much of it. Fields that are passed on to a server inside a sandbox as lines of
 * HTTP/1.1 are checked again here: differences in leniency between parsers are what makes request smuggling
 * possible. Cookies that were split into several fields are joined. */
#pragma once

#include "base/buf.h"
#include "http/server.h"

struct h2_span {
	uint32_t at, n; /* offset and length in the text */
};

struct h2_head {
	struct buf text; /* names and values, concatenated */
	struct h2_span method, path, authority;
	struct {
		struct h2_span name, value;
	} fields[HTTP_HEADERS_MAX];
	size_t n_fields;
	size_t total; /* bytes of all fields, stored or not */
	int refuse;   /* status to answer with, 0: valid so far */
	const char *why;
	bool has_method, has_path, has_authority;
};

void h2_head_begin(struct h2_head *hd);
void h2_head_add(struct h2_head *hd, struct str name, struct str value);

/* Called after all fields. The text is copied to `to` (h2_head_size() bytes), which the strings of rq then point
 * into. has_body: the stream has not ended with the head. Returns 0, or -EBADMSG with refuse and why set; rq is
 * usable in both cases. */
size_t h2_head_size(const struct h2_head *hd);
int h2_head_fill(struct h2_head *hd, bool has_body, char *to, struct http_req *rq);
void h2_head_done(struct h2_head *hd);
