/* SPDX-License-Identifier: Apache-2.0 */
/* Units of http/multipart: every text is fed whole and in pieces of each size. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "http/multipart.h"
#include "unit.h"

struct seen {
	struct buf text; /* "[name|filename]data." per part */
	int stop_at;     /* part that on_part refuses, 1-based */
	int parts;
	int pieces;
};

static int on_part(void *user, struct str name, struct str filename)
{
	struct seen *s = user;

	s->parts++;
	if (s->parts == s->stop_at)
		return -ENOSPC;
	buf_ch(&s->text, '[');
	buf_str(&s->text, name);
	buf_ch(&s->text, '|');
	buf_str(&s->text, filename.p ? filename : STR_LIT("-"));
	buf_ch(&s->text, ']');
	return 0;
}

static int on_data(void *user, struct str data)
{
	struct seen *s = user;

	s->pieces++;
	buf_str(&s->text, data);
	return 0;
}

static int on_part_end(void *user)
{
	struct seen *s = user;

	buf_ch(&s->text, '.');
	return 0;
}

static const struct multipart_ops ops = { .on_part = on_part, .on_data = on_data, .on_part_end = on_part_end };

static int parse(struct str body, size_t step, struct seen *s)
{
	struct multipart *m;
	int rc = multipart_new(STR_LIT("multipart/form-data; boundary=XX"), &ops, s, &m);

	assert_int_equal(rc, 0);
	while (body.n && rc == 0) {
		/* a copy of its own, so that reading past the piece is noticed */
		size_t n = step < body.n ? step : body.n;
		char *p = malloc(n);

		memcpy(p, body.p, n);
		rc = multipart_feed(m, (struct str) { p, n });
		free(p);
		str_skip(&body, n);
	}
	if (rc == 0)
		rc = multipart_end(m);
	multipart_free(m);
	return rc;
}

static void parsed_is(struct str body, const char *want)
{
	for (size_t step = 1; step <= body.n; step++) {
		struct seen s = { .text = BUF_INIT(10000) };

		assert_int_equal(parse(body, step, &s), 0);
		assert_string_equal(buf_cstr(&s.text), want);
		buf_done(&s.text);
	}
}

static void refused(struct str body)
{
	for (size_t step = 1; step <= body.n; step++) {
		struct seen s = { .text = BUF_INIT(100000) };

		assert_int_equal(parse(body, step, &s), -EBADMSG);
		buf_done(&s.text);
	}
}

#define CD "Content-Disposition: form-data; "

static void parts_come_with_names_and_bytes(void **state)
{
	(void)state;
	parsed_is(STR_LIT("--XX\r\n" CD "name=\"file\"; filename=\"/a b/c.txt\"\r\nContent-Type: "
			  "text/plain\r\n\r\nhello\r\n--XX--\r\n"),
	    "[file|/a b/c.txt]hello.");
	parsed_is(
	    STR_LIT("--XX\r\n" CD "name=a\r\n\r\n1\r\n--XX\r\ncontent-disposition:form-data;name=b\r\n\r\n\r\n--XX--"),
	    "[a|-]1.[b|-].");
	parsed_is(STR_LIT("preamble\r\n--XX \t\r\n" CD "name=\"n\"\r\n\r\nx\r\n--XX--\r\nepilogue\r\n--XX\r\n"),
	    "[n|-]x.");
	parsed_is(STR_LIT("--XX--"), "");
	parsed_is(STR_LIT("--XX\r\n" CD "filename=\"f\"\r\n\r\n--XX--"), "[|f]."); /* no body at all */
}

static void near_delimiters_are_data(void **state)
{
	(void)state;
	parsed_is(STR_LIT("--XX\r\n" CD "name=a\r\n\r\n\r\r\n\r\n-\r\n--X\r\n--Y--XX\n--XX\r\r\n--XX--"),
	    "[a|-]\r\r\n\r\n-\r\n--X\r\n--Y--XX\n--XX\r.");
	parsed_is(STR_LIT("--XX\r\n" CD "name=a\r\n\r\n--X--XX\r\n--XX--"), "[a|-]--X--XX.");
	parsed_is(STR_LIT("--XX\r\n" CD "name=a\r\n\r\n-\r\n--XX--"), "[a|-]-.");
}

static void names_are_unescaped(void **state)
{
	(void)state;
	parsed_is(STR_LIT("--XX\r\n" CD "name=\"a\\\"b\\\\c\"; filename=\"C:\\dir\\x;y=z\"\r\n\r\n\r\n--XX--"),
	    "[a\"b\\c|C:\\dir\\x;y=z].");
	parsed_is(STR_LIT("--XX\r\n" CD "name=f; filename=\"x\"; filename*=UTF-8''%C3%A4%20b\r\n\r\n\r\n--XX--"),
	    "[f|\xc3\xa4 b].");
	parsed_is(STR_LIT("--XX\r\n" CD "name=f; filename*=utf-8'en'a; filename=x\r\n\r\n\r\n--XX--"), "[f|a].");
	parsed_is(STR_LIT("--XX\r\n" CD "name=\"\xc3\xa4\"; filename=\"\"\r\n\r\n\r\n--XX--"), "[\xc3\xa4|].");
}

static void malformed_bodies_are_refused(void **state)
{
	(void)state;
	refused(STR_LIT("--XX\r\n" CD "name=a\r\n\r\nx")); /* no end */
	refused(STR_LIT("--XX\r\n" CD "name=a\r\n\r\nx\r\n--XX"));
	refused(STR_LIT("--XX\r\n" CD "name=a\r\n\r\nx\r\n--XX-"));
	refused(STR_LIT("--XX\r\n" CD "name=a\r\n\r\nx\r\n--XXy\r\n"));
	refused(STR_LIT("--XX\r\n" CD "name=a\r\n\r\nx\r\n--XX\n"));
	refused(STR_LIT("--XX\r\n\r\nx\r\n--XX--")); /* no disposition */
	refused(STR_LIT("--XX\r\nContent-Type: a\r\n\r\nx\r\n--XX--"));
	refused(STR_LIT("--XX\r\n" CD "name=a\r\n" CD "name=b\r\n\r\nx\r\n--XX--"));
	refused(STR_LIT("--XX\r\nContent-Disposition: attachment; name=a\r\n\r\nx\r\n--XX--"));
	refused(STR_LIT("--XX\r\n" CD "name=\"a\0b\"\r\n\r\nx\r\n--XX--"));
	refused(STR_LIT("--XX\r\n" CD "name=f; filename*=UTF-8''%00\r\n\r\n\r\n--XX--"));
	refused(STR_LIT("nothing"));
}

static void endless_part_heads_are_refused(void **state)
{
	struct seen s = { .text = BUF_INIT(1000) };
	autobuf struct buf b = BUF_INIT(100000);

	(void)state;
	buf_z(&b, "--XX\r\nX: ");
	for (int i = 0; i < 20000; i++)
		buf_ch(&b, 'x');
	assert_int_equal(parse(buf_view(&b), 1000, &s), -EBADMSG);
	buf_done(&s.text);
}

static void a_callback_stops_the_parse(void **state)
{
	struct seen s = { .text = BUF_INIT(1000), .stop_at = 2 };

	(void)state;
	assert_int_equal(
	    parse(STR_LIT("--XX\r\n" CD "name=a\r\n\r\nx\r\n--XX\r\n" CD "name=b\r\n\r\ny\r\n--XX--"), 7, &s), -ENOSPC);
	assert_int_equal(s.parts, 2);
	assert_string_equal(buf_cstr(&s.text), "[a|-]x.");
	buf_done(&s.text);
}

/* Each piece becomes a write: a binary file has a '\r' every 256 bytes. */
static void line_ends_do_not_cut_the_data(void **state)
{
	struct seen s = { .text = BUF_INIT(100000) };
	autobuf struct buf body = BUF_INIT(100000);

	(void)state;
	buf_str(&body, STR_LIT("--XX\r\n" CD "name=a\r\n\r\n"));
	for (int i = 0; i < 4000; i++)
		buf_str(&body, STR_LIT("x\r\n--X\r"));
	buf_str(&body, STR_LIT("\r\n--XX--"));
	assert_int_equal(parse(buf_view(&body), body.n, &s), 0);
	assert_int_equal(s.text.n, strlen("[a|-]") + 4000 * 7 + strlen("."));
	assert_true(s.pieces <= 3);
	buf_done(&s.text);
}

static void the_boundary_comes_from_the_content_type(void **state)
{
	static const char *const bad[] = { "", "multipart/form-data",
		"multipart/form-data; boundary=", "multipart/form-data; boundary=\"a", "text/plain; boundary=x",
		"multipart/mixed; boundary=x", "multipart/form-data; boundary=\"a\rb\"",
		"multipart/form-data; boundary=\"a \"" };
	static const char *const good[] = { "multipart/form-data; boundary=x",
		"Multipart/Form-Data;charset=utf-8; Boundary=\"a b:c\"",
		"multipart/form-data; boundary=----formdata-undici-0123456789" };
	struct multipart *m;

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		assert_int_equal(multipart_new(str_of(bad[i]), &ops, NULL, &m), -EINVAL);
	for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
		assert_int_equal(multipart_new(str_of(good[i]), &ops, NULL, &m), 0);
		multipart_free(m);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parts_come_with_names_and_bytes),
		cmocka_unit_test(near_delimiters_are_data),
		cmocka_unit_test(names_are_unescaped),
		cmocka_unit_test(malformed_bodies_are_refused),
		cmocka_unit_test(endless_part_heads_are_refused),
		cmocka_unit_test(a_callback_stops_the_parse),
		cmocka_unit_test(line_ends_do_not_cut_the_data),
		cmocka_unit_test(the_boundary_comes_from_the_content_type),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
