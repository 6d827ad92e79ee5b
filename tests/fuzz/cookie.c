/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: lines are a Cookie field, a Set-Cookie field, an Origin, a Host, an Accept-Encoding and a path. Whatever
 * they are: what a sandbox gets of a Cookie field names no session, however it reads it; a Set-Cookie field that is
 * passed on sets none; only an Origin with the Host in it is the own one; no path leaves the list of files. */
#include <string.h>

#include "front/console/files.h"
#include "front/util/origin.h"
#include "front/util/session_cookie.h"
#include "fuzz.h"
#include "http/cookie.h"
#include "http/server.h"

static size_t count(struct str field, bool is_secure)
{
	struct http_headers h = { .n = 1, .v = { { STR_LIT("cookie"), field } } };
	struct str token;
	size_t n = session_cookie_find(&h, is_secure, &token);

	MUST(n == 0 || (token.p >= field.p && token.p + token.n <= field.p + field.n));
	return n;
}

static void hide(struct str field)
{
	autobuf struct buf out = BUF_INIT(1 << 20), again = BUF_INIT(1 << 20);

	session_cookie_hide(&out, field);
	MUST(!out.bad && out.n <= field.n * 2 + 2);
	MUST(count(buf_view(&out), false) == 0 && count(buf_view(&out), true) == 0);
	session_cookie_hide(&again, buf_view(&out));
	MUST(again.n <= out.n); /* nothing comes to light that was hidden */
	MUST(count(buf_view(&again), false) == 0 && count(buf_view(&again), true) == 0);
}

/* A browser stores the part before the first ';' and sends it back, without the blanks around it. */
static void set(struct str field)
{
	struct str sent = field;

	sent = str_trim(str_cut(&sent, ';'));
	if (!session_cookie_is_set_by(field)) {
		MUST(count(sent, false) == 0 && count(sent, true) == 0);
		while (sent.n > 0 && sent.p[0] == '=') {
			str_skip(&sent, 1);
			MUST(count(sent, false) == 0 && count(sent, true) == 0);
		}
	}
}

static void negotiate(struct str accept, struct str path)
{
	static char form[] = "x";
	struct console_file file = {
		.forms = { [CODING_NONE] = { form, 1, "\"a\"" }, [CODING_BROTLI] = { form, 1, "\"b\"" } }
	};
	enum coding c = console_file_choose(&file, accept);

	MUST(file.forms[c].p);
	MUST(c == CODING_NONE || memmem(accept.p, accept.n, "b", 1) || memmem(accept.p, accept.n, "B", 1));
	(void)etag_listed(path, "\"a\"");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str rest = { (const char *)data, size };
	struct str field = str_cut(&rest, '\n'), given = str_cut(&rest, '\n'), origin = str_cut(&rest, '\n');
	struct str host = str_cut(&rest, '\n'), accept = str_cut(&rest, '\n');

	hide(field);
	set(given);
	if (origin_is_host(origin, host, false))
		MUST(host.n > 0 && origin.n > host.n / 2 && str_starts(origin, "http"));
	if (origin_is_host(origin, host, true))
		MUST(str_starts(origin, "https://"));
	negotiate(accept, rest);
	return 0;
}
