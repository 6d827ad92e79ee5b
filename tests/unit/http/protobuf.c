/* SPDX-License-Identifier: Apache-2.0 */
/* Units of http/protobuf, with tables of their own. Wire bytes are written out by hand, from the encoding's
 * description. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "http/json.h"
#include "http/protobuf.h"
#include "unit.h"

static const struct pb_value colours[] = { { "RED", 0 }, { "BLUE", 7 } };
static const struct pb_enum colour = { colours, ARRAY_LEN(colours) };
static const struct pb_field inner_fields[] = {
	{ .name = "a", .number = 1, .kind = PB_STRING, .oneof = 1 },
	{ .name = "b", .number = 2, .kind = PB_BYTES, .oneof = 1 },
	{ .name = "n", .number = 3, .kind = PB_UINT32 },
};
static const struct pb_message inner = { inner_fields, ARRAY_LEN(inner_fields) };
static const struct pb_field fields[] = {
	{ .name = "text", .number = 1, .kind = PB_STRING },
	{ .name = "texts", .number = 2, .kind = PB_STRING, .repeated = true },
	{ .name = "yes", .number = 3, .kind = PB_BOOL },
	{ .name = "signedInt", .number = 4, .kind = PB_SINT32 },
	{ .name = "large", .number = 5, .kind = PB_INT64 },
	{ .name = "colour", .number = 6, .kind = PB_ENUM, .values = &colour },
	{ .name = "inner", .number = 7, .kind = PB_MESSAGE, .message = &inner },
	{ .name = "map", .number = 8, .kind = PB_MAP },
	{ .name = "time", .number = 9, .kind = PB_TIME },
	{ .name = "many", .number = 200, .kind = PB_MESSAGE, .repeated = true, .message = &inner },
};
static const struct pb_message outer = { fields, ARRAY_LEN(fields) };

#define WIRE(s) STR_LIT(s)

/* The message as JSON text; the caller frees. */
static char *read_text(struct str in)
{
	autojson json_t *tree = NULL;
	struct err e = ERR_INIT;

	assert_int_equal(pb_read(&outer, in, &tree, &e), 0);
	return json_dumps(tree, JSON_COMPACT | JSON_SORT_KEYS);
}

static void reads(struct str in, const char *want)
{
	autofree char *text = read_text(in);

	assert_string_equal(text, want);
}

static void refuses(struct str in)
{
	autojson json_t *tree = NULL;
	struct err e = ERR_INIT;

	assert_int_equal(pb_read(&outer, in, &tree, &e), -EINVAL);
	assert_non_null(strstr(e.text, "protobuf"));
}

static void each_kind_of_field_is_read(void **state)
{
	(void)state;
	reads(STR_NULL, "{}");
	reads(WIRE("\x0a\x02hi"), "{\"text\":\"hi\"}");
	reads(WIRE("\x0a\x00"), "{\"text\":\"\"}");
	reads(WIRE("\x12\x01"
		   "a\x12\x01"
		   "b"),
	    "{\"texts\":[\"a\",\"b\"]}");
	reads(WIRE("\x18\x01"), "{\"yes\":true}");
	reads(WIRE("\x18\x00"), "{\"yes\":false}");
	reads(WIRE("\x20\x01"), "{\"signedInt\":-1}");
	reads(WIRE("\x20\xfe\xff\xff\xff\x0f"), "{\"signedInt\":2147483647}");
	reads(WIRE("\x28\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), "{\"large\":\"-1\"}");
	reads(WIRE("\x30\x07"), "{\"colour\":\"BLUE\"}");
	reads(WIRE("\x30\x08"), "{\"colour\":8}");
	reads(WIRE("\x3a\x03\x12\x01\xff"), "{\"inner\":{\"b\":\"/w==\"}}");
	reads(WIRE("\x42\x06\x0a\x01k\x12\x01v"), "{\"map\":{\"k\":\"v\"}}");
	reads(WIRE("\x42\x00"), "{\"map\":{\"\":\"\"}}");
	reads(WIRE("\x4a\x04\x08\x01\x10\x05"), "{\"time\":\"1970-01-01T00:00:01.000000005Z\"}");
	reads(WIRE("\xc2\x0c\x02\x18\x09\xc2\x0c\x00"), "{\"many\":[{\"n\":9},{}]}");
}

static void the_last_value_counts_and_messages_merge(void **state)
{
	(void)state;
	reads(WIRE("\x0a\x01"
		   "a\x0a\x01"
		   "b"),
	    "{\"text\":\"b\"}");
	reads(WIRE("\x3a\x03\x0a\x01x\x3a\x02\x18\x05"), "{\"inner\":{\"a\":\"x\",\"n\":5}}");
	reads(WIRE("\x42\x06\x0a\x01k\x12\x01v\x42\x06\x0a\x01k\x12\x01w"), "{\"map\":{\"k\":\"w\"}}");
}

static void a_member_of_a_oneof_puts_out_the_others(void **state)
{
	(void)state;
	reads(WIRE("\x3a\x06\x0a\x01x\x12\x01y"), "{\"inner\":{\"b\":\"eQ==\"}}");
	reads(WIRE("\x3a\x03\x12\x01y\x3a\x03\x0a\x01x"), "{\"inner\":{\"a\":\"x\"}}");
}

static void unknown_fields_and_other_wire_types_are_skipped(void **state)
{
	(void)state;
	/* number 15 in all four wire types, then a varint where a string is known */
	reads(WIRE("\x78\x05\x79"
		   "12345678\x7a\x01z\x7d"
		   "1234\x08\x05\x0a\x01"
		   "a"),
	    "{\"text\":\"a\"}");
}

static void what_is_broken_is_refused(void **state)
{
	(void)state;
	refuses(WIRE("\x0a\x05hi"));                                   /* says 5, has 2 */
	refuses(WIRE("\x0a"));                                         /* no length */
	refuses(WIRE("\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01")); /* 2^64 - 1 bytes */
	refuses(WIRE("\x28\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02")); /* more than 64 bits */
	refuses(WIRE("\x28\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"));
	refuses(WIRE("\x00\x01")); /* field 0 */
	refuses(WIRE("\x7b\x7c")); /* a group */
	refuses(WIRE("\x7d"
		     "123"));                  /* half of a fixed32 */
	refuses(WIRE("\x0a\x01\xff"));         /* not UTF-8 */
	refuses(WIRE("\x0a\x01\x00"));         /* NUL */
	refuses(WIRE("\x42\x03\x0a\x01\x00")); /* NUL in a key */
	refuses(WIRE("\x3a\x02\x0a\x05"));     /* broken inside */
	refuses(WIRE("\x4a\x02\x10\xff"));
	refuses(WIRE("\x4a\x0b\x10\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01")); /* -1 nanoseconds */
}

static void too_many_items_are_refused(void **state)
{
	autobuf struct buf in = BUF_INIT(1 << 20);
	autojson json_t *tree = NULL;
	struct err e = ERR_INIT;

	(void)state;
	for (int i = 0; i < PB_ITEMS_MAX; i++)
		buf_put(&in, "\x12", 2); /* with its NUL: an empty text */
	assert_int_equal(pb_read(&outer, buf_view(&in), &tree, &e), 0);
	buf_put(&in, "\x12", 2);
	json_decref(tree);
	tree = NULL;
	assert_int_equal(pb_read(&outer, buf_view(&in), &tree, &e), -EINVAL);
	assert_string_equal(e.text, "field 'texts' has more than 100000 items");
}

static void writes(const char *json, struct str want)
{
	autobuf struct buf out = BUF_INIT(1 << 16);
	autojson json_t *tree = json_loads(json, 0, NULL);

	assert_non_null(tree);
	pb_put(&out, &outer, tree);
	assert_false(out.bad);
	assert_int_equal(out.n, want.n);
	assert_memory_equal(out.p ? out.p : "", want.p, want.n);
}

static void each_kind_of_field_is_written(void **state)
{
	(void)state;
	writes("{}", WIRE(""));
	writes("{\"text\":\"hi\",\"unknown\":1,\"yes\":null}", WIRE("\x0a\x02hi"));
	writes("{\"texts\":[\"a\",\"b\"]}",
	    WIRE("\x12\x01"
		 "a\x12\x01"
		 "b"));
	writes("{\"yes\":true}", WIRE("\x18\x01"));
	writes("{\"signedInt\":-1}", WIRE("\x20\x01"));
	writes("{\"signedInt\":-2147483648}", WIRE("\x20\xff\xff\xff\xff\x0f"));
	writes("{\"large\":\"300\"}", WIRE("\x28\xac\x02"));
	writes("{\"large\":-1}", WIRE("\x28\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"));
	writes("{\"colour\":\"BLUE\"}", WIRE("\x30\x07"));
	writes("{\"inner\":{\"b\":\"/w==\"}}", WIRE("\x3a\x03\x12\x01\xff"));
	writes("{\"inner\":{}}", WIRE("\x3a\x00"));
	writes("{\"map\":{\"k\":\"v\"}}", WIRE("\x42\x06\x0a\x01k\x12\x01v"));
	writes("{\"time\":\"1970-01-01T00:00:01.000000005Z\"}", WIRE("\x4a\x04\x08\x01\x10\x05"));
	writes("{\"time\":\"yesterday\"}", WIRE(""));
	writes("{\"many\":[{\"n\":9},{}]}", WIRE("\xc2\x0c\x02\x18\x09\xc2\x0c\x00"));
}

static void lengths_of_more_than_one_byte_fit(void **state)
{
	char text[301];
	autobuf struct buf out = BUF_INIT(1 << 16);
	autojson json_t *tree = NULL;

	(void)state;
	memset(text, 'x', 300);
	text[300] = '\0';
	tree = json_pack("{s:{s:s}}", "inner", "a", text);
	pb_put(&out, &outer, tree);
	assert_int_equal(out.n, 3 + 3 + 300);
	assert_memory_equal(out.p, "\x3a\xaf\x02\x0a\xac\x02x", 7);
}

static void bytes_go_out_without_a_tree(void **state)
{
	autobuf struct buf out = BUF_INIT(1 << 16);

	(void)state;
	pb_put_bytes(&out, &outer, (const char *[]) { "inner", "b", NULL }, STR_LIT("\xff\x00"));
	assert_int_equal(out.n, 6);
	assert_memory_equal(out.p, "\x3a\x04\x12\x02\xff\x00", 6);
	pb_put_bytes(&out, &outer, (const char *[]) { "inner", "nobody", NULL }, STR_LIT("x"));
	assert_true(out.bad);
}

static void an_item_of_a_list_can_be_written_alone(void **state)
{
	autobuf struct buf out = BUF_INIT(1 << 16);
	autojson json_t *item = json_pack("{s:i}", "n", 9);

	(void)state;
	pb_put_field(&out, &outer, "many", item);
	assert_int_equal(out.n, 5);
	assert_memory_equal(out.p, "\xc2\x0c\x02\x18\x09", 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_kind_of_field_is_read),
		cmocka_unit_test(the_last_value_counts_and_messages_merge),
		cmocka_unit_test(a_member_of_a_oneof_puts_out_the_others),
		cmocka_unit_test(unknown_fields_and_other_wire_types_are_skipped),
		cmocka_unit_test(what_is_broken_is_refused),
		cmocka_unit_test(too_many_items_are_refused),
		cmocka_unit_test(each_kind_of_field_is_written),
		cmocka_unit_test(lengths_of_more_than_one_byte_fit),
		cmocka_unit_test(bytes_go_out_without_a_tree),
		cmocka_unit_test(an_item_of_a_list_can_be_written_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
