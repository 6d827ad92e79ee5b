/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: a body means the same, however it is cut into pieces. The first byte gives the piece size. */
#include <string.h>

#include "base/buf.h"
#include "fuzz.h"
#include "http/multipart.h"

static int on_part(void *user, struct str name, struct str filename)
{
	struct buf *b = user;

	MUST(!name.n || !memchr(name.p, '\0', name.n));
	MUST(!filename.n || !memchr(filename.p, '\0', filename.n));
	buf_ch(b, '[');
	buf_str(b, name);
	buf_ch(b, filename.p ? '|' : '/');
	buf_str(b, filename);
	buf_ch(b, ']');
	return 0;
}

static int on_data(void *user, struct str data)
{
	MUST(data.n);
	buf_str(user, data);
	return 0;
}

static int on_part_end(void *user)
{
	buf_ch(user, '.');
	return 0;
}

static const struct multipart_ops ops = { .on_part = on_part, .on_data = on_data, .on_part_end = on_part_end };

static int parse(struct str body, size_t step, struct buf *out)
{
	struct multipart *m;
	int rc = 0;

	MUST(multipart_new(STR_LIT("multipart/form-data; boundary=XX"), &ops, out, &m) == 0);
	while (body.n && rc == 0) {
		size_t n = step < body.n ? step : body.n;

		rc = multipart_feed(m, (struct str) { body.p, n });
		str_skip(&body, n);
	}
	if (rc == 0)
		rc = multipart_end(m);
	multipart_free(m);
	return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	autobuf struct buf whole = BUF_INIT(4 << 20), pieces = BUF_INIT(4 << 20);
	struct multipart *m;

	if (size == 0)
		return 0;
	struct str body = { (const char *)data + 1, size - 1 };
	int a = parse(body, size, &whole), b = parse(body, 1u + data[0] % 16, &pieces);

	MUST(a == b);
	MUST(str_eq(buf_view(&whole), buf_view(&pieces)));
	if (multipart_new(body, &ops, NULL, &m) == 0)
		multipart_free(m);
	return 0;
}
