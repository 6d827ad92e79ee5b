/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: what is decoded has no NUL, and encoding it again gives something that decodes alike. */
#include <string.h>

#include "fuzz.h"
#include "http/url.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str in = { (const char *)data, size }, name, value, rest = in;
	autobuf struct buf plain = BUF_INIT(1 << 20), again = BUF_INIT(1 << 20), enc = BUF_INIT(1 << 20);
	char *z = NULL;

	if (url_decode(in, false, &plain) == 0) {
		MUST(!plain.n || !memchr(plain.p, '\0', plain.n));
		url_encode(&enc, buf_view(&plain));
		MUST(url_decode(buf_view(&enc), true, &again) == 0);
		MUST(str_eq(buf_view(&plain), buf_view(&again)));
	}
	while (query_next(&rest, &name, &value)) {
		MUST(name.p >= in.p && name.p + name.n <= in.p + in.n);
		MUST(value.p >= in.p && value.p + value.n <= in.p + in.n);
	}
	if (query_get(in, "path", &z) == 0)
		free(z);
	return 0;
}
