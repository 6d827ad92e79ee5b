/* SPDX-License-Identifier: Apache-2.0 */
/* http/h2_head: the fields of a request head as they come out of the decoder, put together as HTTP/1.x has them. No
 * I/O.
 *
 * nghttp2 has checked much of it already. What goes on to a server inside a sandbox as a line of HTTP/1.1 is checked
 * again here, as what one reader forgives and the next does not is how requests are smuggled. Cookies that came in
 * crumbs are joined. */
#pragma once

#include "base/buf.h"
#include "http/server.h"

struct h2_span {
	uint32_t at, n; /* in the text */
};

struct h2_head {
	struct buf text; /* names and values, one behind the other */
	struct h2_span method, path, authority;
	struct {
		struct h2_span name, value;
	} fields[HTTP_HEADERS_MAX];
	size_t n_fields;
	size_t total; /* bytes of all fields, kept or not */
	int refuse;   /* status that tells the peer why, 0: all is well so far */
	const char *why;
	bool has_method, has_path, has_authority;
};

void h2_head_begin(struct h2_head *hd);
void h2_head_add(struct h2_head *hd, struct str name, struct str value);

/* All fields have come. The text is copied to `to` (h2_head_size() bytes), which the strings of rq then point into.
 * has_body: the stream has not ended with the head. Returns 0, or -EBADMSG with refuse and why set; rq is sound all the
 * same. */
size_t h2_head_size(const struct h2_head *hd);
int h2_head_fill(struct h2_head *hd, bool has_body, char *to, struct http_req *rq);
void h2_head_done(struct h2_head *hd);
