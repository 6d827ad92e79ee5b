/* SPDX-License-Identifier: Apache-2.0 */
/* Units of init/gunzip: whole, in pieces, several members, damaged. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#include <string.h>
#include <zlib.h>

#include "base/buf.h"
#include "http/gunzip.h"
#include "unit.h"

static size_t pack(const char *text, unsigned char *out, size_t size)
{
	z_stream z = { 0 };

	assert_int_equal(deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
	z.next_in = (unsigned char *)text;
	z.avail_in = (unsigned)strlen(text);
	z.next_out = out;
	z.avail_out = (unsigned)size;
	assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
	(void)deflateEnd(&z);
	return size - z.avail_out;
}

static int collect(void *user, struct str data)
{
	buf_str(user, data);
	return 0;
}

static int refuse(void *user, struct str data)
{
	(void)user;
	(void)data;
	return -77;
}

static int unpack(const unsigned char *in, size_t n, size_t step, struct buf *out)
{
	struct gunzip *g = gunzip_new();
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < n; i += step)
		rc = gunzip_feed(g, (struct str) { (const char *)in + i, n - i < step ? n - i : step }, collect, out);
	if (rc == 0)
		rc = gunzip_end(g);
	gunzip_free(g);
	return rc;
}

static void every_split_gives_the_same(void **state)
{
	unsigned char zip[512];
	size_t n = pack("hello hello hello", zip, 200);

	(void)state;
	n += pack(" again", zip + n, 200);
	for (size_t step = 1; step <= n; step++) {
		autobuf struct buf out = BUF_INIT(1000);

		assert_int_equal(unpack(zip, n, step, &out), 0);
		assert_string_equal(buf_cstr(&out), "hello hello hello again");
	}
}

static void damage_is_seen(void **state)
{
	autobuf struct buf out = BUF_INIT(1000);
	unsigned char zip[200];
	size_t n = pack("hello hello hello", zip, sizeof(zip));
	struct gunzip *g = gunzip_new();

	(void)state;
	assert_int_equal(unpack(zip, n - 1, n, &out), -EBADMSG);
	zip[n - 6] ^= 1; /* the checksum */
	assert_int_equal(unpack(zip, n, n, &out), -EBADMSG);
	assert_int_equal(unpack((const unsigned char *)"plain", 5, 5, &out), -EBADMSG);
	assert_int_equal(unpack(zip, 0, 1, &out), -EBADMSG);
	zip[n - 6] ^= 1;
	assert_int_equal(gunzip_feed(g, (struct str) { (char *)zip, n }, refuse, NULL), -77);
	gunzip_free(g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_split_gives_the_same),
		cmocka_unit_test(damage_is_seen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
