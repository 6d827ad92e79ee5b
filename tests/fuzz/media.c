/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: header values of transfers of files, and compressed bodies. A part lies within its file, a name cannot
 * end its header, and a body unpacks to the same whether it comes at once or byte by byte. */
#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "fuzz.h"
#include "http/gunzip.h"
#include "init/files/media.h"

#define OUT_MAX (1 << 20)

static int keep(void *user, struct str data)
{
	buf_str(user, data);
	return ((struct buf *)user)->bad ? -EFBIG : 0;
}

static int unpack(struct str in, size_t step, struct buf *out)
{
	struct gunzip *g = gunzip_new();
	int r = 0;

	MUST(g);
	while (r == 0 && in.n > 0) {
		size_t n = step < in.n ? step : in.n;

		r = gunzip_feed(g, (struct str) { in.p, n }, keep, out);
		str_skip(&in, n);
	}
	if (r == 0)
		r = gunzip_end(g);
	gunzip_free(g);
	return r;
}

static void ranges(struct str in)
{
	static const uint64_t sizes[] = { 0, 1, 10, 1ull << 40, UINT64_MAX };

	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		uint64_t from = 0, n = 0;
		int r = media_range(in, sizes[i], &from, &n);

		MUST(r == 0 || r == 1 || r == -ERANGE);
		if (r == 1)
			MUST(n > 0 && n <= sizes[i] && from <= sizes[i] - n);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str in = { (const char *)data, size };
	autobuf struct buf name = BUF_INIT(OUT_MAX), whole = BUF_INIT(OUT_MAX), bytes = BUF_INIT(OUT_MAX);
	char date[MEDIA_DATE_SIZE];
	time_t t, again;

	ranges(in);
	(void)media_coding(in, false);
	MUST(media_type(in, in));
	media_disposition(&name, in);
	MUST(name.bad ||
	    (!memchr(name.p, '\r', name.n) && !memchr(name.p, '\n', name.n) && !memchr(name.p, '\0', name.n)));
	if (media_date_parse(in, &t)) {
		media_date(t, date);
		MUST(media_date_parse(str_of(date), &again) && again == t);
	}
	if (in.n > 0) {
		int r = unpack(in, in.n, &whole);

		MUST(unpack(in, 1, &bytes) == r);
		if (r == 0)
			MUST(str_eq(buf_view(&whole), buf_view(&bytes)));
	}
	return 0;
}
