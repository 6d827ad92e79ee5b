/* SPDX-License-Identifier: Apache-2.0 */
/* front/record/scan: by how a line or a message begins. Our init writes its JSON compactly and in a fixed order. */
#include "front/record/scan.h"

#include <stdlib.h>
#include <string.h>

#include "http/connect.h"

static bool begins(struct str s, const char *with)
{
	return str_starts(s, with);
}

/* The text of a string up to its closing quote, if that is a plain word. */
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
	static const char error[] = "{\"type\":\"error\",\"name\":\"";
	struct str line = { s->head, s->n < SCAN_HEAD_MAX ? s->n : SCAN_HEAD_MAX };

	if (begins(line, "{\"type\":\"std")) {
		s->outputs++;
	} else if (begins(line, "{\"type\":\"result\"")) {
		s->results++;
	} else if (begins(line, error)) {
		str_skip(&line, sizeof error - 1);
		take_word(line, s->error);
	} else if (begins(line, "{\"type\":\"end_of_execution\"")) {
		s->ended = true;
	}
	s->n = 0;
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

static void on_json(struct process_scan *s, struct str m)
{
	static const char code[] = "\"exitCode\":";
	char z[SCAN_HEAD_MAX + 1];

	if (begins(m, "{\"event\":{\"start\":")) {
		s->started = true;
	} else if (begins(m, "{\"event\":{\"end\":")) {
		memcpy(z, m.p, m.n);
		z[m.n] = '\0';

		const char *at = strstr(z, code);

		s->ended = true;
		s->exit_code = at ? strtoll(at + sizeof code - 1, NULL, 10) : 0;
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

/* The number of the field that a message begins with, if that is a message itself; m is at its content then. 0: it is
 * something else. */
static uint64_t enter(struct str *m)
{
	uint64_t key, n;

	return take_varint(m, &key) && (key & 7) == 2 && take_varint(m, &n) ? key >> 3 : 0;
}

/* As http/schema.c has them, and as init writes them: in the order of their numbers, without what is 0. */
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
