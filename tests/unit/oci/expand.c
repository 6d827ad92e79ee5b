/* SPDX-License-Identifier: Apache-2.0 */
/* oci/expand: gzip, zstd and plain bytes; damage; bombs. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <zlib.h>
#include <zstd.h>

#include "base/buf.h"
#include "oci/expand.h"
#include "unit.h"

static int keep(void *user, const void *p, size_t n)
{
	buf_put(user, p, n);
	return 0;
}

static int count(void *user, const void *p, size_t n)
{
	(void)p;
	*(uint64_t *)user += n;
	return 0;
}

static void put_gzip(struct buf *out, const void *p, size_t n)
{
	z_stream z = { .next_in = (unsigned char *)(uintptr_t)p, .avail_in = (unsigned)n };
	size_t room = n + 1024;

	assert_int_equal(deflateInit2(&z, 9, Z_DEFLATED, 15 + 16, 9, Z_DEFAULT_STRATEGY), Z_OK);
	z.next_out = (unsigned char *)buf_room(out, room);
	z.avail_out = (unsigned)room;
	assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
	out->n += room - z.avail_out;
	(void)deflateEnd(&z);
}

static void put_zstd(struct buf *out, const void *p, size_t n)
{
	size_t room = ZSTD_compressBound(n), got = ZSTD_compress(buf_room(out, room), room, p, n, 3);

	assert_false(ZSTD_isError(got));
	out->n += got;
}

static int run(struct str in, size_t piece, uint64_t max, struct buf *out, struct err *e)
{
	struct expand *x = expand_new(max, keep, out);
	struct digest got, want;
	int rc = 0;

	*e = ERR_INIT;
	for (size_t i = 0; rc == 0 && i < in.n; i += piece)
		rc = expand_put(x, in.p + i, in.n - i < piece ? in.n - i : piece, e);
	if (rc == 0)
		rc = expand_end(x, &got, e);
	if (rc == 0) {
		digest_of(buf_view(out), &want);
		assert_true(digest_eq(&got, &want));
		assert_int_equal(expand_out(x), out->n);
	}
	expand_free(x);
	return rc;
}

static void all_forms_give_the_same(void **state)
{
	autobuf struct buf text = BUF_INIT(1 << 20), in = BUF_INIT(4 << 20), out = BUF_INIT(4 << 20);
	struct err e;

	(void)state;
	for (int i = 0; i < 20000; i++)
		buf_fmt(&text, "line %d\n", i);
	for (int form = 0; form < 4; form++) {
		buf_clear(&in);
		if (form == 0)
			buf_str(&in, buf_view(&text));
		else if (form == 1 || form == 3)
			put_gzip(&in, text.p, text.n);
		else
			put_zstd(&in, text.p, text.n);
		if (form == 3) /* two members, and zeroes behind them */
			buf_put(&in, "\0\0\0", 3);
		for (size_t piece = 1; piece < 100000; piece = piece * 7 + 1) {
			buf_clear(&out);
			assert_int_equal(run(buf_view(&in), piece, 1 << 20, &out, &e), 0);
			assert_int_equal(out.n, text.n);
			assert_memory_equal(out.p, text.p, text.n);
		}
	}
}

static void damage_is_noticed(void **state)
{
	autobuf struct buf in = BUF_INIT(4 << 20), out = BUF_INIT(4 << 20);
	struct err e;

	(void)state;
	put_gzip(&in, "hello hello hello", 17);
	assert_int_equal(run((struct str) { in.p, in.n - 1 }, 100, 1000, &out, &e), -EBADMSG);
	in.p[in.n - 5] ^= 1; /* the checksum */
	assert_int_equal(run(buf_view(&in), 100, 1000, &out, &e), -EBADMSG);
	buf_clear(&in);
	put_zstd(&in, "hello hello hello", 17);
	assert_int_equal(run((struct str) { in.p, in.n - 1 }, 100, 1000, &out, &e), -EBADMSG);
	buf_clear(&in);
	put_gzip(&in, "hello", 5);
	buf_z(&in, "garbage");
	assert_int_equal(run(buf_view(&in), 100, 1000, &out, &e), -EBADMSG);
}

static void what_becomes_too_large_is_stopped(void **state)
{
	autobuf struct buf zeros = BUF_INIT(64 << 20), in = BUF_INIT(256 << 20);
	struct err e = ERR_INIT;
	uint64_t out = 0;
	int rc = 0;

	(void)state;
	memset(buf_room(&zeros, 32 << 20), 0, 32 << 20);
	zeros.n = 32 << 20;
	put_gzip(&in, zeros.p, zeros.n);
	struct expand *x = expand_new(1 << 20, count, &out);
	assert_int_equal(expand_put(x, in.p, in.n, &e), -EFBIG);
	expand_free(x);
	assert_true(out <= 1 << 20);

	/* Within the size, but nothing honest shrinks like that. */
	out = 0;
	x = expand_new(UINT64_MAX, count, &out);
	for (int i = 0; rc == 0 && i < 320; i++)
		rc = expand_put(x, in.p, in.n, &e);
	assert_int_equal(rc, -EFBIG);
	assert_non_null(strstr(e.text, "bomb"));
	assert_true(out < 256 << 20);
	expand_free(x);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_forms_give_the_same),
		cmocka_unit_test(damage_is_noticed),
		cmocka_unit_test(what_becomes_too_large_is_stopped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
