/* SPDX-License-Identifier: Apache-2.0 */
/* front/util/session_cookie: finds, hides and writes the cookie. */
#include "front/util/session_cookie.h"

#include "http/cookie.h"
#include "http/server.h"

static bool is_session(struct str name)
{
	return str_ieq(name, STR_LIT(SESSION_COOKIE)) || str_ieq(name, STR_LIT(SESSION_COOKIE_TLS));
}

bool browser_is_secure(const struct http_req *rq)
{
	/* A client that lies here gets a cookie that its own browser does not store. */
	struct str proto = http_header_get(&rq->headers, "x-forwarded-proto");

	return http_is_secure(rq) || str_ieq(str_trim(str_cut(&proto, ',')), STR_LIT("https"));
}

size_t session_cookie_find(const struct http_headers *h, bool is_secure, struct str *ret)
{
	size_t n = 0;

	*ret = STR_NULL;
	for (size_t i = 0; i < h->n; i++) {
		struct str field = h->v[i].value, name, value;

		if (!str_ieq(h->v[i].name, STR_LIT("cookie")))
			continue;
		while (cookie_next(&field, &name, &value)) {
			if (!str_is(name, is_secure ? SESSION_COOKIE_TLS : SESSION_COOKIE))
				continue;
			if (n++ == 0)
				*ret = value;
		}
	}
	return n;
}

/* "=NAME=VALUE" is sent for a cookie without a name, and some servers read it as NAME=VALUE. */
static struct str without_marks(struct str pair)
{
	while (pair.n > 0 && (pair.p[0] == '=' || pair.p[0] == ' ' || pair.p[0] == '\t'))
		str_skip(&pair, 1);
	return pair;
}

void session_cookie_hide(struct buf *out, struct str field)
{
	const char *between = "";
	struct str name, value;

	while (cookie_next(&field, &name, &value)) {
		struct str inner = value = name.n ? value : without_marks(value);

		if (is_session(name) || (name.n == 0 && (value.n == 0 || is_session(str_trim(str_cut(&inner, '='))))))
			continue;
		buf_z(out, between);
		between = "; ";
		buf_str(out, name);
		if (name.n > 0)
			buf_ch(out, '=');
		buf_str(out, value);
	}
}

bool session_cookie_is_set_by(struct str field)
{
	struct str pair = without_marks(str_cut(&field, ';'));

	return is_session(str_trim(str_cut(&pair, '=')));
}

void session_cookie_put(struct buf *out, const char *token, bool is_secure)
{
	buf_fmt(out, "Set-Cookie: %s=%s; Path=/; HttpOnly; SameSite=Strict%s%s\r\n",
	    is_secure ? SESSION_COOKIE_TLS : SESSION_COOKIE, token, is_secure ? "; Secure" : "",
	    *token ? "" : "; Max-Age=0");
}
