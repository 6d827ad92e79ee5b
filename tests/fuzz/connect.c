/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: envelopes lie within the input, and putting them together again gives the same bytes. */
#include <string.h>

#include "fuzz.h"
#include "http/connect.h"
#include "http/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str in = { (const char *)data, size }, rest = in;
	autobuf struct buf again = BUF_INIT(ENVELOPE_MAX), b64 = BUF_INIT(1 << 20), plain = BUF_INIT(1 << 20),
			   raw = BUF_INIT(1 << 20);
	struct envelope ev;

	while (envelope_parse(&rest, &ev) == 1) {
		MUST(ev.body.p >= in.p && ev.body.p + ev.body.n <= in.p + in.n);
		envelope_put(&again, ev.flags, ev.body);
	}
	MUST(str_eq(buf_view(&again), (struct str) { in.p, in.n - rest.n }));

	base64_encode(&b64, in, size & 1);
	MUST(base64_decode(buf_view(&b64), &plain) == 0);
	MUST(str_eq(buf_view(&plain), in));
	(void)base64_decode(in, &raw);
	return 0;
}
