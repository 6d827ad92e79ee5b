/* SPDX-License-Identifier: Apache-2.0 */
/* agent/message_code: runs the code of a message and writes the result as text. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "agent/messages.h"
#include "agent/run.h"

#define SHOWN_MAX 8000 /* bytes of one output in the text; the data has all of it */

/* A fence longer than any in the text, so that the text cannot close it. */
static void say_block(struct message *m, const char *title, const char *text)
{
	size_t longest = 2, run = 0, n = strlen(text);
	bool cut = n > SHOWN_MAX;

	for (const char *p = text; *p; p++) {
		run = *p == '`' ? run + 1 : 0;
		longest = run > longest ? run : longest;
	}
	n = cut ? SHOWN_MAX : n;
	while (cut && n > 0 && ((unsigned char)text[n] & 0xc0) == 0x80)
		n--;
	buf_fmt(&m->reply, "**%s**\n", title);
	for (size_t i = 0; i <= longest; i++)
		buf_ch(&m->reply, '`');
	buf_ch(&m->reply, '\n');
	buf_put(&m->reply, text, n);
	buf_z(&m->reply, n > 0 && text[n - 1] == '\n' ? "" : "\n");
	for (size_t i = 0; i <= longest; i++)
		buf_ch(&m->reply, '`');
	buf_z(&m->reply, cut ? "\n(truncated; data.executionResults has the full output)\n" : "\n");
}

static void say_lines(struct message *m, const char *title, const json_t *lines)
{
	struct buf all = BUF_INIT(64u * 1024 * 1024);
	const json_t *line;
	size_t i;

	json_array_foreach(lines, i, line) buf_z(&all, json_string_value(line) ? json_string_value(line) : "");
	if (all.n && !all.bad)
		say_block(m, title, buf_cstr(&all));
	buf_done(&all);
}

static const char *field(const json_t *o, const char *name)
{
	const char *z = json_string_value(json_object_get(o, name));

	return z ? z : "";
}

static void say_result(struct message *m, const json_t *r)
{
	const json_t *error = json_object_get(r, "error"), *recovered = json_object_get(r, "recovered");
	const char *text = field(r, "text");

	if (json_is_object(recovered))
		message_say(m, "%s", field(recovered, "note"));
	if (*text)
		say_block(m, "Result", text);
	say_lines(m, "Output", json_object_get(json_object_get(r, "logs"), "stdout"));
	say_lines(m, "Errors", json_object_get(json_object_get(r, "logs"), "stderr"));
	if (json_is_object(error)) {
		const char *message = field(error, "message"), *remedy = field(error, "remedy");

		message_say(m, "**Error:** %s: %s", field(error, "name"), *message ? message : field(error, "value"));
		if (*field(error, "reason"))
			message_say(m, "It %s (rule %s).", field(error, "reason"), field(error, "rule"));
		if (*remedy)
			message_say(m, "%s", remedy);
		if (*field(error, "traceback"))
			say_block(m, "Traceback", field(error, "traceback"));
	} else if (!*text && json_array_size(json_object_get(json_object_get(r, "logs"), "stdout")) == 0) {
		message_say(m, "The code ran and printed nothing.");
	}
}

static void add_sum(struct message *m, const struct intent *i)
{
	m->success &= i->why == NULL;
	if (i->why) {
		message_say(m, "**Error:** %s", i->why);
		(void)json_array_append_new(m->executions,
		    json_pack("{s:b,s:s,s:n,s:[],s:{s:[],s:[]},s:{s:s,s:s,s:s}}", "success", 0, "language",
			"arithmetic", "text", "results", "logs", "stdout", "stderr", "error", "name", "ArithmeticError",
			"value", i->why, "traceback", ""));
		return;
	}
	message_say(m, "%s = %s", i->code, i->value);
	(void)json_array_append_new(m->executions,
	    json_pack("{s:b,s:s,s:s,s:[],s:{s:[],s:[]},s:n}", "success", 1, "language", "arithmetic", "text", i->value,
		"results", "logs", "stdout", "stderr", "error"));
}

static void no_code(struct message *m)
{
	m->success = false;
	message_say(m,
	    "The message contains no code. Put it between two lines of three backquotes, with the language after the "
	    "first.");
}

/* Code that cannot or must not run needs no sandbox. */
static int make_place(struct run_place *p, struct atoll_error *e)
{
	struct message *m = p->user;

	if (message_session(m, e) < 0)
		return -e->no;
	p->a = m->a;
	p->session_id = m->session.id;
	return 0;
}

void message_code(struct message *m, const struct intent *i)
{
	struct run_outcome out = { 0 };

	if (i->kind == INTENT_SUM) {
		add_sum(m, i);
		return;
	}
	if (!i->code) {
		no_code(m);
		return;
	}
	if (m->dry_run) {
		message_say(m, "Would run %zu bytes of %s code.", strlen(i->code),
		    i->language ? i->language : atoll_language_guess(i->code));
		return;
	}
	struct run_place place = { .owner = m->owner,
		.session_id = *m->session.id ? m->session.id : NULL,
		.make = make_place,
		.user = m,
		.dir = m->dir };

	(void)run_in_session(m->v, &place, i->language, i->code, m->timeout_ms, &out);
	m->away |= out.away;
	m->success &= out.success;
	say_result(m, out.json);
	(void)json_array_append_new(m->executions, out.json);
}
