/* SPDX-License-Identifier: Apache-2.0 */
/* Units of egress/sni: the name in a ClientHello and in a Host field. */
#include <stdint.h>

#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "egress/sni.h"
#include "unit.h"

static char name[POLICY_NAME_SIZE];

static void put(struct buf *b, uint32_t v, int bytes)
{
	while (bytes-- > 0)
		buf_ch(b, (char)(v >> 8 * bytes));
}

static void put_part(struct buf *to, const struct buf *part, int len_bytes)
{
	put(to, (uint32_t)part->n, len_bytes);
	buf_put(to, part->p, part->n);
}

/* An extension with one host name. */
static void put_sni(struct buf *b, const char *host)
{
	autobuf struct buf entry = BUF_INIT(1024), list = BUF_INIT(1024);

	put(&entry, 0, 1);
	put(&entry, (uint32_t)strlen(host), 2);
	buf_z(&entry, host);
	put_part(&list, &entry, 2);
	put(b, 0, 2);
	put_part(b, &list, 2);
}

/* The handshake message around some extensions. */
static void put_hello(struct buf *out, const struct buf *exts)
{
	autobuf struct buf h = BUF_INIT(65536);

	put(&h, 0x0303, 2);
	for (int i = 0; i < 32; i++)
		buf_ch(&h, (char)i);
	put(&h, 0, 1);
	put(&h, 2, 2);
	put(&h, 0x1301, 2);
	put(&h, 1, 1);
	put(&h, 0, 1);
	if (exts)
		put_part(&h, exts, 2);
	put(out, 1, 1);
	put_part(out, &h, 3);
}

/* ... in records of at most that many bytes. */
static void put_records(struct buf *out, const struct buf *msg, size_t piece)
{
	for (size_t at = 0; at < msg->n; at += piece) {
		size_t n = msg->n - at < piece ? msg->n - at : piece;

		put(out, 0x160301, 3);
		put(out, (uint32_t)n, 2);
		buf_put(out, msg->p + at, n);
	}
}

static void hello_for(struct buf *out, const char *host, size_t piece)
{
	autobuf struct buf exts = BUF_INIT(4096), msg = BUF_INIT(65536);

	put(&exts, 0x0a0a, 2); /* one that nobody knows */
	put(&exts, 0, 2);
	if (host)
		put_sni(&exts, host);
	put_hello(&msg, &exts);
	put_records(out, &msg, piece);
	assert_false(out->bad);
}

static void the_name_is_found_however_it_is_cut(void **state)
{
	(void)state;
	for (size_t piece = 1; piece < 120; piece++) {
		autobuf struct buf b = BUF_INIT(65536);

		hello_for(&b, "API.Example.com", piece);
		assert_int_equal(sni_parse(buf_view(&b), name), SNI_NAME);
		assert_string_equal(name, "api.example.com");
		for (size_t n = 0; n < b.n; n++)
			assert_int_equal(sni_parse((struct str) { b.p, n }, name), SNI_MORE);
	}
}

static void what_follows_the_hello_does_not_matter(void **state)
{
	autobuf struct buf b = BUF_INIT(65536);

	(void)state;
	hello_for(&b, "a.com", 16384);
	buf_put(&b, "\x14\x03\x03\0\1\1", 6);
	assert_int_equal(sni_parse(buf_view(&b), name), SNI_NAME);
}

static void without_a_name_there_is_none(void **state)
{
	autobuf struct buf b = BUF_INIT(65536), c = BUF_INIT(65536), msg = BUF_INIT(65536);
	static const char *const none[] = { "1.2.3.4", "a..b", "*.a.com", "a b", "a.com:443", "-a.com", "[::1]" };

	(void)state;
	hello_for(&b, NULL, 16384);
	assert_int_equal(sni_parse(buf_view(&b), name), SNI_NONE);
	put_hello(&msg, NULL);
	put_records(&c, &msg, 16384);
	assert_int_equal(sni_parse(buf_view(&c), name), SNI_NONE);
	for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
		autobuf struct buf d = BUF_INIT(65536);

		hello_for(&d, none[i], 16384);
		assert_int_equal(sni_parse(buf_view(&d), name), SNI_NONE);
	}
}

static void two_names_are_refused(void **state)
{
	autobuf struct buf exts = BUF_INIT(4096), msg = BUF_INIT(65536), b = BUF_INIT(65536);

	(void)state;
	put_sni(&exts, "a.com");
	put_sni(&exts, "b.com");
	put_hello(&msg, &exts);
	put_records(&b, &msg, 16384);
	assert_int_equal(sni_parse(buf_view(&b), name), -EBADMSG);
}

static void two_names_in_one_list_are_refused(void **state)
{
	autobuf struct buf list = BUF_INIT(4096), ext = BUF_INIT(4096), exts = BUF_INIT(4096), msg = BUF_INIT(65536),
			   b = BUF_INIT(65536);

	(void)state;
	for (int i = 0; i < 2; i++) {
		put(&list, 0, 1);
		put(&list, 5, 2);
		buf_z(&list, i ? "b.com" : "a.com");
	}
	put_part(&ext, &list, 2);
	put(&exts, 0, 2);
	put_part(&exts, &ext, 2);
	put_hello(&msg, &exts);
	put_records(&b, &msg, 16384);
	assert_int_equal(sni_parse(buf_view(&b), name), -EBADMSG);
}

static void what_is_no_hello_is_refused(void **state)
{
	static const struct str bad[] = {
		STR_LIT("\x15\x03\x01\0\2\1\0"),
		STR_LIT("\x16\x02\x01\0\4"),
		STR_LIT("\x16\x03\x01\0\0"),
		STR_LIT("\x16\x03\x01\x40\x01"),
		STR_LIT("\x16\x03\x01\0\4\2\0\0\0"),
		STR_LIT("\x16\x03\x01\0\4\1\xff\xff\xff"),
		STR_LIT("\x16\x03\x01\0\4\1\0\0\0"),
		STR_LIT("\x16\x03\x01\0\6\1\0\0\1xx"),
		STR_LIT("GET / HTTP/1.1"),
	};

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		assert_int_equal(sni_parse(bad[i], name), -EBADMSG);
}

static void a_host_field_has_a_name_and_perhaps_a_port(void **state)
{
	static const char *const bad[] = { "", ":80", "1.2.3.4", "1.2.3.4:80", "[::1]", "a.com:", "a.com:x",
		"a.com:99999", "a.com:80:80", "a com", "*", "*.a.com", "a.com/" };

	(void)state;
	assert_int_equal(host_parse(STR_LIT("Example.COM"), name), 0);
	assert_string_equal(name, "example.com");
	assert_int_equal(host_parse(STR_LIT("a.com.:8080"), name), 0);
	assert_string_equal(name, "a.com");
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		assert_int_equal(host_parse(str_of(bad[i]), name), -EINVAL);
	assert_int_equal(host_parse(STR_NULL, name), -EINVAL);
	assert_int_equal(host_parse(STR_LIT("a.com\0.b.com"), name), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_name_is_found_however_it_is_cut),
		cmocka_unit_test(what_follows_the_hello_does_not_matter),
		cmocka_unit_test(without_a_name_there_is_none),
		cmocka_unit_test(two_names_are_refused),
		cmocka_unit_test(two_names_in_one_list_are_refused),
		cmocka_unit_test(what_is_no_hello_is_refused),
		cmocka_unit_test(a_host_field_has_a_name_and_perhaps_a_port),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
