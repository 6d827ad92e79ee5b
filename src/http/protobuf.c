/* SPDX-License-Identifier: Apache-2.0 */
/* http/protobuf: converts protobuf messages to JSON trees and back, driven by tables. */
#include "http/protobuf.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/fd.h"
#include "http/json.h"

enum wire { WIRE_VARINT = 0, WIRE_I64 = 1, WIRE_BYTES = 2, WIRE_I32 = 5 };

#define VARINT_MAX 10        /* bytes */
#define NUMBER_MAX 536870911 /* of a field */
#define BASE64_MAX (64 * 1024 * 1024)
#define TIME_SIZE 40
#define TIME_FIRST_S (-62135596800LL) /* 0001-01-01 */
#define TIME_LAST_S 253402300799LL    /* 9999-12-31 */

static const struct pb_field time_fields[] = {
	{ .name = "seconds", .number = 1, .kind = PB_INT64 },
	{ .name = "nanos", .number = 2, .kind = PB_INT64 },
};
static const struct pb_message time_message = { time_fields, ARRAY_LEN(time_fields) };

static const struct pb_field map_fields[] = {
	{ .name = "key", .number = 1, .kind = PB_STRING },
	{ .name = "value", .number = 2, .kind = PB_STRING },
};
static const struct pb_message map_message = { map_fields, ARRAY_LEN(map_fields) };

static enum wire wire_of(enum pb_kind kind)
{
	switch (kind) {
	case PB_BOOL:
	case PB_UINT32:
	case PB_SINT32:
	case PB_INT64:
	case PB_ENUM:
		return WIRE_VARINT;
	default:
		return WIRE_BYTES;
	}
}

/* Reading. */

static int bad(struct err *e)
{
	return err_set(e, EINVAL, "request body is not a valid protobuf message");
}

static int get_varint(struct str *in, uint64_t *ret)
{
	uint64_t v = 0;

	for (unsigned i = 0; i < VARINT_MAX && i < in->n; i++) {
		uint64_t bits = (unsigned char)in->p[i] & 0x7f;

		if (i == VARINT_MAX - 1 && bits > 1)
			return -EINVAL;
		v |= bits << (7 * i);
		if (!(in->p[i] & 0x80)) {
			str_skip(in, i + 1);
			*ret = v;
			return 0;
		}
	}
	return -EINVAL;
}

static int get_piece(struct str *in, uint64_t n, struct str *ret)
{
	if (in->n < n)
		return -EINVAL;
	*ret = (struct str) { in->p, (size_t)n };
	str_skip(in, (size_t)n);
	return 0;
}

/* The value after a tag: *ret_n of a varint, *ret of the others. */
static int get_value(struct str *in, enum wire wire, uint64_t *ret_n, struct str *ret)
{
	uint64_t n;

	switch (wire) {
	case WIRE_VARINT:
		return get_varint(in, ret_n);
	case WIRE_BYTES:
		return get_varint(in, &n) < 0 ? -EINVAL : get_piece(in, n, ret);
	case WIRE_I64:
		return get_piece(in, 8, ret);
	case WIRE_I32:
		return get_piece(in, 4, ret);
	default:
		return -EINVAL;
	}
}

static const struct pb_field *field_of(const struct pb_message *m, uint64_t number)
{
	for (size_t i = 0; i < m->n; i++)
		if (m->fields[i].number == number)
			return &m->fields[i];
	return NULL;
}

static int read_into(const struct pb_message *m, struct str in, json_t *o, struct err *e);

static json_t *bytes_json(struct str s)
{
	autobuf struct buf text = BUF_INIT(BASE64_MAX);

	base64_encode(&text, s, true);
	return text.bad ? NULL : text.n ? json_stringn_nocheck(text.p, text.n) : json_string("");
}

static json_t *text_json(struct str s)
{
	if (s.n && memchr(s.p, '\0', s.n))
		return NULL;
	return s.n ? json_stringn(s.p, s.n) : json_string("");
}

static json_t *enum_json(const struct pb_enum *values, uint64_t v)
{
	for (size_t i = 0; i < values->n; i++)
		if (values->values[i].number == (int32_t)v)
			return json_string(values->values[i].name);
	return json_integer((int32_t)v);
}

static json_t *int64_json(int64_t v)
{
	char text[24];

	(void)snprintf(text, sizeof(text), "%lld", (long long)v);
	return json_string(text);
}

static json_t *number_json(const struct pb_field *f, uint64_t v)
{
	uint32_t low = (uint32_t)v;

	switch (f->kind) {
	case PB_BOOL:
		return json_boolean(v != 0);
	case PB_UINT32:
		return json_integer(low);
	case PB_SINT32:
		return json_integer((int32_t)(low >> 1 ^ (~(low & 1) + 1)));
	case PB_ENUM:
		return enum_json(f->values, v);
	default:
		return int64_json((int64_t)v);
	}
}

static int64_t int_of(const json_t *v)
{
	int64_t n = 0;

	if (json_is_integer(v))
		return json_integer_value(v);
	if (json_is_string(v))
		(void)str_to_i64((struct str) { json_string_value(v), json_string_length(v) }, INT64_MIN, INT64_MAX,
		    &n);
	return n;
}

static json_t *time_json(struct str in, struct err *e)
{
	autojson json_t *o = json_object();
	char date[24] = "", text[TIME_SIZE];
	struct tm tm = { 0 };

	if (!o || read_into(&time_message, in, o, e) < 0)
		return NULL;
	time_t s = (time_t)int_of(json_object_get(o, "seconds"));
	int64_t ns = int_of(json_object_get(o, "nanos"));

	if (s < TIME_FIRST_S || s > TIME_LAST_S || ns < 0 || ns > 999999999 || !gmtime_r(&s, &tm))
		return NULL;
	(void)snprintf(date, sizeof(date), "%04d-%02d-%02dT%02d:%02d:%02d", (tm.tm_year + 1900) % 10000, tm.tm_mon + 1,
	    tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec);
	(void)snprintf(text, sizeof(text), "%s.%09lldZ", date, (long long)ns);
	return json_string(text);
}

/* Merged into the previous value, unless it is an item of a list. */
static json_t *message_json(const struct pb_field *f, struct str in, json_t *before, struct err *e)
{
	autojson json_t *o = before && !f->repeated ? json_incref(before) : json_object();

	return o && read_into(f->message, in, o, e) == 0 ? json_incref(o) : NULL;
}

static int read_map(const struct pb_field *f, struct str in, json_t *o, struct err *e)
{
	autojson json_t *pair = json_object();
	json_t *map = json_object_get(o, f->name), *value;
	const char *key;

	if (!pair || read_into(&map_message, in, pair, e) < 0)
		return e->no ? -EINVAL : bad(e);
	key = json_string_value(json_object_get(pair, "key"));
	value = json_object_get(pair, "value");
	if (!map) {
		map = json_object();
		(void)json_object_set_new(o, f->name, map);
	}
	if (json_object_size(map) >= PB_ITEMS_MAX)
		return err_set(e, EINVAL, "field '%s' has more than %d items", f->name, PB_ITEMS_MAX);
	return json_object_set_new(map, key ? key : "", value ? json_incref(value) : json_string("")) < 0 ? bad(e) : 0;
}

static int keep(const struct pb_message *m, const struct pb_field *f, json_t *o, json_t *value, struct err *e)
{
	json_t *list;

	if (!value)
		return e->no ? -EINVAL : bad(e);
	for (size_t i = 0; f->oneof && i < m->n; i++)
		if (m->fields[i].oneof == f->oneof && &m->fields[i] != f)
			(void)json_object_del(o, m->fields[i].name);
	if (!f->repeated)
		return json_object_set_new(o, f->name, value) < 0 ? bad(e) : 0;
	list = json_object_get(o, f->name);
	if (!list) {
		list = json_array();
		(void)json_object_set_new(o, f->name, list);
	}
	if (json_array_size(list) >= PB_ITEMS_MAX) {
		json_decref(value);
		return err_set(e, EINVAL, "field '%s' has more than %d items", f->name, PB_ITEMS_MAX);
	}
	return json_array_append_new(list, value) < 0 ? bad(e) : 0;
}

static int read_field(const struct pb_message *m, const struct pb_field *f, uint64_t n, struct str s, json_t *o,
    struct err *e)
{
	switch (f->kind) {
	case PB_STRING:
		return keep(m, f, o, text_json(s), e);
	case PB_BYTES:
		return keep(m, f, o, bytes_json(s), e);
	case PB_MESSAGE:
		return keep(m, f, o, message_json(f, s, json_object_get(o, f->name), e), e);
	case PB_MAP:
		return read_map(f, s, o, e);
	case PB_TIME:
		return keep(m, f, o, time_json(s, e), e);
	default:
		return keep(m, f, o, number_json(f, n), e);
	}
}

static int read_into(const struct pb_message *m, struct str in, json_t *o, struct err *e)
{
	while (in.n) {
		const struct pb_field *f;
		uint64_t tag, n = 0;
		struct str s = STR_NULL;

		if (get_varint(&in, &tag) < 0 || tag >> 3 == 0 || tag >> 3 > NUMBER_MAX ||
		    get_value(&in, (enum wire)(tag & 7), &n, &s) < 0)
			return bad(e);
		f = field_of(m, tag >> 3);
		if (f && wire_of(f->kind) == (enum wire)(tag & 7) && read_field(m, f, n, s, o, e) < 0)
			return -EINVAL;
	}
	return 0;
}

int pb_read(const struct pb_message *m, struct str in, json_t **ret, struct err *e)
{
	autojson json_t *o = json_object();

	if (!o)
		return err_set(e, ENOMEM, "read the request body");
	if (read_into(m, in, o, e) < 0)
		return -EINVAL;
	*ret = json_incref(o);
	return 0;
}

/* Writing. */

static size_t varint_bytes(uint64_t v, unsigned char out[VARINT_MAX])
{
	size_t n = 0;

	do {
		out[n] = (unsigned char)((v & 0x7f) | (v > 0x7f ? 0x80 : 0));
		n++;
	} while (v >>= 7);
	return n;
}

static void put_varint(struct buf *out, uint64_t v)
{
	unsigned char bytes[VARINT_MAX];

	buf_put(out, bytes, varint_bytes(v, bytes));
}

static void put_tag(struct buf *out, const struct pb_field *f)
{
	put_varint(out, (uint64_t)f->number << 3 | (uint64_t)wire_of(f->kind));
}

static void put_piece(struct buf *out, const struct pb_field *f, struct str s)
{
	put_tag(out, f);
	put_varint(out, s.n);
	buf_str(out, s);
}

/* Inserts the length before what has been written since `at`. */
static void put_length(struct buf *out, size_t at)
{
	unsigned char bytes[VARINT_MAX];
	size_t len = out->n - at, n = varint_bytes(len, bytes);

	buf_put(out, bytes, n); /* reserves the space */
	if (out->bad)
		return;
	memmove(out->p + at + n, out->p + at, len);
	memcpy(out->p + at, bytes, n);
}

static void put_message(struct buf *out, const struct pb_field *f, const struct pb_message *m, const json_t *tree)
{
	put_tag(out, f);

	size_t at = out->n;

	pb_put(out, m, tree);
	put_length(out, at);
}

static void put_map(struct buf *out, const struct pb_field *f, const json_t *map)
{
	const char *key;
	json_t *value;

	json_object_foreach((json_t *)map, key, value)
	{
		if (!json_is_string(value))
			continue;
		put_tag(out, f);

		size_t at = out->n;

		put_piece(out, &map_fields[0], str_of(key));
		put_piece(out, &map_fields[1], (struct str) { json_string_value(value), json_string_length(value) });
		put_length(out, at);
	}
}

static bool two(const char *s, size_t at, int *ret)
{
	if (s[at] < '0' || s[at] > '9' || s[at + 1] < '0' || s[at + 1] > '9')
		return false;
	*ret = (s[at] - '0') * 10 + s[at + 1] - '0';
	return true;
}

/* "2026-01-02T03:04:05.000000006Z", as time_json() writes it. */
static bool parse_time(const char *s, int64_t *ret_s, int64_t *ret_ns)
{
	int century, year;
	struct tm tm = { 0 };
	uint64_t ns;

	if (strlen(s) != strlen("2026-01-02T03:04:05.000000006Z") || s[29] != 'Z' || !two(s, 0, &century) ||
	    !two(s, 2, &year) || !two(s, 5, &tm.tm_mon) || !two(s, 8, &tm.tm_mday) || !two(s, 11, &tm.tm_hour) ||
	    !two(s, 14, &tm.tm_min) || !two(s, 17, &tm.tm_sec) ||
	    str_to_u64((struct str) { s + 20, 9 }, 999999999, &ns) < 0)
		return false;
	tm.tm_year = century * 100 + year - 1900;
	tm.tm_mon--;
	*ret_s = timegm(&tm);
	*ret_ns = (int64_t)ns;
	return true;
}

static void put_time(struct buf *out, const struct pb_field *f, const json_t *value)
{
	int64_t s, ns;

	if (!json_is_string(value) || !parse_time(json_string_value(value), &s, &ns))
		return;
	put_tag(out, f);

	size_t at = out->n;

	put_tag(out, &time_fields[0]);
	put_varint(out, (uint64_t)s);
	put_tag(out, &time_fields[1]);
	put_varint(out, (uint64_t)ns);
	put_length(out, at);
}

static void put_base64(struct buf *out, const struct pb_field *f, const json_t *value)
{
	autobuf struct buf bytes = BUF_INIT(BASE64_MAX);
	struct str text = { json_string_value(value), json_string_length(value) };

	if (base64_decode(text, &bytes) == 0)
		put_piece(out, f, buf_view(&bytes));
	out->bad |= bytes.bad;
}

static uint64_t enum_number(const struct pb_enum *values, const json_t *v)
{
	if (!json_is_string(v))
		return (uint64_t)int_of(v);
	for (size_t i = 0; i < values->n; i++)
		if (strcmp(values->values[i].name, json_string_value(v)) == 0)
			return (uint64_t)values->values[i].number;
	return 0;
}

static uint64_t number_of(const struct pb_field *f, const json_t *v)
{
	int64_t n = int_of(v);

	switch (f->kind) {
	case PB_BOOL:
		return json_is_true(v);
	case PB_SINT32:
		return (uint32_t)n << 1 ^ (n < 0 ? UINT32_MAX : 0);
	case PB_ENUM:
		return enum_number(f->values, v);
	default:
		return (uint64_t)n;
	}
}

static void put_one(struct buf *out, const struct pb_field *f, const json_t *value)
{
	switch (f->kind) {
	case PB_STRING:
		if (json_is_string(value))
			put_piece(out, f, (struct str) { json_string_value(value), json_string_length(value) });
		break;
	case PB_BYTES:
		if (json_is_string(value))
			put_base64(out, f, value);
		break;
	case PB_MESSAGE:
		if (json_is_object(value))
			put_message(out, f, f->message, value);
		break;
	case PB_MAP:
		put_map(out, f, value);
		break;
	case PB_TIME:
		put_time(out, f, value);
		break;
	default:
		put_tag(out, f);
		put_varint(out, number_of(f, value));
	}
}

void pb_put(struct buf *out, const struct pb_message *m, const json_t *tree)
{
	for (size_t i = 0; i < m->n; i++) {
		const struct pb_field *f = &m->fields[i];
		const json_t *value = json_object_get(tree, f->name), *item;
		size_t k;

		if (!value || json_is_null(value))
			continue;
		if (!f->repeated) {
			put_one(out, f, value);
			continue;
		}
		json_array_foreach((json_t *)value, k, item) put_one(out, f, item);
	}
}

static const struct pb_field *field_named(const struct pb_message *m, const char *name)
{
	for (size_t i = 0; i < m->n; i++)
		if (strcmp(m->fields[i].name, name) == 0)
			return &m->fields[i];
	return NULL;
}

void pb_put_field(struct buf *out, const struct pb_message *m, const char *name, const json_t *value)
{
	const struct pb_field *f = field_named(m, name);

	if (f)
		put_one(out, f, value);
	else
		out->bad = true;
}

void pb_put_bytes(struct buf *out, const struct pb_message *m, const char *const *path, struct str bytes)
{
	const struct pb_field *f = field_named(m, path[0]);

	if (!f) {
		out->bad = true;
	} else if (!path[1]) {
		put_piece(out, f, bytes);
	} else {
		put_tag(out, f);

		size_t at = out->n;

		pb_put_bytes(out, f->message, path + 1, bytes);
		put_length(out, at);
	}
}
