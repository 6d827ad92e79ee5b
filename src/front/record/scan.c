/* SPDX-License-Identifier: Apache-2.0 */
/* front/record/scan: reads the members of a message that matter, from its first bytes. A message may be far longer than
 * what is kept of it, so the reader accepts JSON that ends anywhere. Members may come in any order within those bytes.
 */
#include "front/record/scan.h"

#include <stdlib.h>
#include <string.h>

#include "http/connect.h"

/* --- JSON that may be truncated ------------------------------------------------------------------------------ */

static void skip_space(struct str *s)
{
	while (s->n > 0 && (s->p[0] == ' ' || s->p[0] == '\t' || s->p[0] == '\r' || s->p[0] == '\n'))
		str_skip(s, 1);
}

/* s is at a quote. Returns what is between the quotes, still escaped, and moves s past it. */
static struct str take_string(struct str *s)
{
	size_t i = 1;

	while (i < s->n && s->p[i] != '"')
		i += s->p[i] == '\\' ? 2 : 1;
	size_t end = i < s->n ? i : s->n;
	struct str text = { s->p + 1, end - 1 };

	str_skip(s, end < s->n ? end + 1 : end);
	return text;
}

/* The text of a value, up to the comma or bracket after it. */
static struct str take_value(struct str *s)
{
	const char *from = s->p;
	size_t depth = 0;

	while (s->n > 0) {
		char c = s->p[0];

		if (c == '"') {
			(void)take_string(s);
			continue;
		}
		if (depth == 0 && (c == ',' || c == '}' || c == ']'))
			break;
		depth += c == '{' || c == '[';
		depth -= c == '}' || c == ']';
		str_skip(s, 1);
	}
	return (struct str) { from, (size_t)(s->p - from) };
}

/* The next member of an object; o is after its opening brace, or after the member before. */
static bool next_member(struct str *o, struct str *ret_name, struct str *ret_value)
{
	skip_space(o);
	if (o->n > 0 && o->p[0] == ',')
		str_skip(o, 1);
	skip_space(o);
	if (o->n == 0 || o->p[0] != '"')
		return false;
	*ret_name = take_string(o);
	skip_space(o);
	if (o->n == 0 || o->p[0] != ':')
		return false;
	str_skip(o, 1);
	skip_space(o);
	*ret_value = take_value(o);
	return true;
}

/* The text of an object's member. False: the object does not have it, or not in what is kept. */
static bool find_member(struct str object, const char *name, struct str *ret)
{
	struct str one;

	skip_space(&object);
	if (object.n == 0 || object.p[0] != '{')
		return false;
	str_skip(&object, 1);
	while (next_member(&object, &one, ret)) {
		if (str_is(one, name))
			return true;
	}
	return false;
}

/* Like find_member(), for a string, still escaped. */
static bool find_string(struct str object, const char *name, struct str *ret)
{
	if (!find_member(object, name, ret) || ret->n == 0 || ret->p[0] != '"')
		return false;
	*ret = take_string(ret);
	return true;
}

/* --- code ---------------------------------------------------------------------------------------------------- */

/* The name of an exception, if it is a plain word. It is untrusted and is shown to people. */
static void take_word(struct str s, char ret[SCAN_NAME_SIZE])
{
	size_t n = 0;

	while (n < s.n && n + 1 < SCAN_NAME_SIZE && s.p[n] > ' ' && s.p[n] <= '~' && s.p[n] != '"' && s.p[n] != '\\')
		n++;
	memcpy(ret, s.p, n);
	ret[n] = '\0';
	if (n == 0)
		memcpy(ret, "Error", sizeof "Error");
}

static void on_line(struct cell_scan *s)
{
	struct str line = { s->head, s->n < SCAN_HEAD_MAX ? s->n : SCAN_HEAD_MAX }, type, name;

	s->n = 0;
	if (!find_string(line, "type", &type))
		return;
	if (str_is(type, "stdout") || str_is(type, "stderr"))
		s->outputs++;
	else if (str_is(type, "result"))
		s->results++;
	else if (str_is(type, "error") && find_string(line, "name", &name))
		take_word(name, s->error);
	else if (str_is(type, "end_of_execution"))
		s->ended = true;
}

static void keep(char head[SCAN_HEAD_MAX], size_t have, struct str piece)
{
	size_t room = have < SCAN_HEAD_MAX ? SCAN_HEAD_MAX - have : 0;

	if (room)
		memcpy(head + have, piece.p, piece.n < room ? piece.n : room);
}

void cell_scan(struct cell_scan *s, struct str data)
{
	s->bytes += data.n;
	while (data.n > 0) {
		const char *nl = memchr(data.p, '\n', data.n);
		struct str piece = { data.p, nl ? (size_t)(nl - data.p) : data.n };

		keep(s->head, s->n, piece);
		s->n += piece.n;
		str_skip(&data, piece.n + (nl != NULL));
		if (nl)
			on_line(s);
	}
}

/* --- processes ----------------------------------------------------------------------------------------------- */

static int64_t number_of(struct str text)
{
	char z[24];
	size_t n = text.n < sizeof z - 1 ? text.n : sizeof z - 1;

	memcpy(z, text.p, n);
	z[n] = '\0';
	return strtoll(z, NULL, 10);
}

static void on_json(struct process_scan *s, struct str m)
{
	struct str event, end, code;

	if (!find_member(m, "event", &event))
		return;
	if (find_member(event, "start", &end)) {
		s->started = true;
	} else if (find_member(event, "end", &end)) {
		s->ended = true;
		s->exit_code = find_member(end, "exitCode", &code) ? number_of(code) : 0;
	}
}

static bool take_varint(struct str *m, uint64_t *ret)
{
	uint64_t v = 0;

	for (unsigned shift = 0; shift < 64 && m->n > 0; shift += 7) {
		uint8_t b = (uint8_t)m->p[0];

		str_skip(m, 1);
		v |= (uint64_t)(b & 0x7f) << shift;
		if (!(b & 0x80)) {
			*ret = v;
			return true;
		}
	}
	return false;
}

/* If the message begins with a field that is itself a message, returns its number and moves m to its content;
 * otherwise returns 0. */
static uint64_t enter(struct str *m)
{
	uint64_t key, n;

	return take_varint(m, &key) && (key & 7) == 2 && take_varint(m, &n) ? key >> 3 : 0;
}

/* The fields as in http/schema.c. init writes them in the order of their numbers, without those that are 0. */
static void on_proto(struct process_scan *s, struct str m)
{
	enum { EVENT = 1, START = 1, END = 3, EXIT_CODE = 1 << 3 };
	uint64_t what, key, code;

	if (enter(&m) != EVENT)
		return;
	what = enter(&m);
	if (what == START) {
		s->started = true;
	} else if (what == END) {
		s->ended = true;
		s->exit_code = take_varint(&m, &key) && key == EXIT_CODE && take_varint(&m, &code)
		    ? (int64_t)(code >> 1) ^ -(int64_t)(code & 1)
		    : 0;
	}
}

static void on_message(struct process_scan *s)
{
	struct str m = { s->head, s->n < SCAN_HEAD_MAX ? s->n : SCAN_HEAD_MAX };

	if (s->is_proto && !(s->envelope[0] & ENVELOPE_END))
		on_proto(s, m);
	else
		on_json(s, m);
	s->n = s->n_envelope = 0;
}

void process_scan(struct process_scan *s, struct str data)
{
	s->bytes += data.n;
	while (data.n > 0) {
		if (s->n_envelope < sizeof s->envelope) {
			s->envelope[s->n_envelope++] = (uint8_t)data.p[0];
			str_skip(&data, 1);
			if (s->n_envelope < sizeof s->envelope)
				continue;
			s->left = (size_t)s->envelope[1] << 24 | (size_t)s->envelope[2] << 16 |
			    (size_t)s->envelope[3] << 8 | s->envelope[4];
			s->n = 0;
		} else {
			struct str piece = { data.p, data.n < s->left ? data.n : s->left };

			keep(s->head, s->n, piece);
			s->n += piece.n;
			s->left -= piece.n;
			str_skip(&data, piece.n);
		}
		if (s->left == 0)
			on_message(s);
	}
}
