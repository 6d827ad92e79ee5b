/* SPDX-License-Identifier: Apache-2.0 */
/* front/util/session_cookie: the cookie of the console's sessions. No sandbox may read it, and none may set it.
 *
 * Over TLS its name has the prefix __Host-, so that browsers accept it from this host only, and not from the page of a
 * sandbox on PORT-ID.domain. Over plain HTTP there is no such protection: a request that has the cookie twice is
 * refused. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/str.h"

struct http_headers;
struct http_req;

#define SESSION_COOKIE "atoll_session"
#define SESSION_COOKIE_TLS "__Host-atoll_session"

/* Whether the browser speaks TLS: to this server, or to a proxy that says so. */
bool browser_is_secure(const struct http_req *rq);

/* How many session cookies the request has, and the first of them. */
size_t session_cookie_find(const struct http_headers *h, bool is_secure, struct str *ret);

/* Appends the value of a Cookie field without session cookies. */
void session_cookie_hide(struct buf *out, struct str field);

/* Whether a Set-Cookie field would set a session cookie. */
bool session_cookie_is_set_by(struct str field);

/* Appends the Set-Cookie line; token "": it removes the cookie. */
void session_cookie_put(struct buf *out, const char *token, bool is_secure);
