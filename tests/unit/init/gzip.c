/* SPDX-License-Identifier: Apache-2.0 */
/* Units of init/gzip: what it packs, init/gunzip unpacks; and gunzip_all() keeps to its limit. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "http/gunzip.h"
#include "init/files/gzip.h"
#include "unit.h"

static void collect(void *user, struct str data)
{
	buf_str(user, data);
}

static void pack(struct str in, size_t step, struct buf *out)
{
	struct gzip *g = gzip_new();

	assert_non_null(g);
	for (size_t i = 0; i < in.n; i += step)
		gzip_feed(g, (struct str) { in.p + i, in.n - i < step ? in.n - i : step }, false, collect, out);
	gzip_feed(g, STR_NULL, true, collect, out);
	gzip_free(g);
}

static void what_is_packed_can_be_unpacked(void **state)
{
	enum { N = 300000 };
	char *text = malloc(N);

	(void)state;
	for (unsigned i = 0, x = 1; i < N; i++, x = x * 1103515245 + 12345)
		text[i] = (char)(i < N / 2 ? 'a' + i % 7 : x >> 16); /* easy, then hard */
	for (size_t step = 1000; step <= N; step *= 17) {
		autobuf struct buf packed = BUF_INIT(1 << 20), plain = BUF_INIT(N);

		pack((struct str) { text, N }, step, &packed);
		assert_true(packed.n < N * 3 / 4);
		assert_int_equal(gunzip_all(buf_view(&packed), &plain), 0);
		assert_int_equal(plain.n, N);
		assert_memory_equal(plain.p, text, N);
	}
	free(text);
}

static void nothing_packs_to_an_empty_member(void **state)
{
	autobuf struct buf packed = BUF_INIT(1000), plain = BUF_INIT(10);

	(void)state;
	pack(STR_NULL, 1, &packed);
	assert_true(packed.n > 0);
	assert_int_equal(gunzip_all(buf_view(&packed), &plain), 0);
	assert_int_equal(plain.n, 0);
}

static void a_bomb_stops_at_the_limit(void **state)
{
	enum { N = 1 << 20 };
	char *zeros = calloc(1, N);
	autobuf struct buf packed = BUF_INIT(1 << 20), plain = BUF_INIT(N - 1), cut = BUF_INIT(N);

	(void)state;
	pack((struct str) { zeros, N }, N, &packed);
	assert_int_equal(gunzip_all(buf_view(&packed), &plain), -EFBIG);
	packed.n -= 4;
	assert_int_equal(gunzip_all(buf_view(&packed), &cut), -EBADMSG);
	free(zeros);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_packed_can_be_unpacked),
		cmocka_unit_test(nothing_packs_to_an_empty_member),
		cmocka_unit_test(a_bomb_stops_at_the_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
