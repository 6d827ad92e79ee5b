/* SPDX-License-Identifier: Apache-2.0 */
/* client/mock/command: simulates the commands echo, cat, pwd, sleep, true, false, exit and python3 FILE, several
 * separated by ';', with quotes, $NAME and >&2. For any other command it prints that it cannot run it, and exits with
 * 127. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/fd.h"
#include "client/mock/state.h"
#include "http/json.h"

#define WORDS_MAX 64
#define KILLED (-1)

struct line {
	struct buf text; /* the words, separated by NULs */
	size_t at[WORDS_MAX];
	size_t n;
	bool to_stderr;
};

static const char *word(struct line *l, size_t i)
{
	return l->text.p + l->at[i];
}

static const char *variable(const struct mock_process *p, const char *name)
{
	const char *z = json_string_value(json_object_get(json_object_get(p->config, "envs"), name));

	if (!z)
		z = json_string_value(json_object_get(p->sb->envs, name));
	return z ? z : strcmp(name, "HOME") == 0 ? "/home/user" : "";
}

static const char *expand(const struct mock_process *p, const char *at, struct buf *out)
{
	size_t n = strspn(at + 1, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_");
	autofree char *name = str_dup((struct str) { at + 1, n });

	if (n == 0)
		buf_ch(out, '$');
	else if (name)
		buf_z(out, variable(p, name));
	return at + 1 + n;
}

/* Parses one command, up to a ';' or the end. Returns the rest of the line. */
static const char *parse(const struct mock_process *p, const char *at, struct line *l)
{
	char quote = 0;

	*l = (struct line) { .text = BUF_INIT(1024 * 1024) };
	while (*at && (quote || *at != ';')) {
		if (!quote && strchr(" \t\n", *at)) {
			at++;
			continue;
		}
		if (strncmp(at, ">&2", 3) == 0) {
			l->to_stderr = true;
			at += 3;
			continue;
		}
		if (l->n == WORDS_MAX)
			break;
		l->at[l->n++] = l->text.n;
		while (*at && (quote || !strchr(" \t\n;", *at))) {
			if (quote ? *at == quote : *at == '\'' || *at == '"')
				quote = quote ? 0 : *at, at++;
			else if (*at == '$' && quote != '\'')
				at = expand(p, at, &l->text);
			else
				buf_ch(&l->text, *at++);
		}
		buf_ch(&l->text, '\0');
	}
	return *at ? at + 1 : at;
}

static void wait_change(struct mock *m, uint64_t until_ms)
{
	struct timespec at = { .tv_sec = (time_t)(until_ms / 1000), .tv_nsec = (long)(until_ms % 1000) * 1000000 };

	(void)pthread_cond_timedwait(&m->changed, &m->lock, &at);
}

static int nap(struct mock_process *p, double seconds)
{
	uint64_t until = clock_mono_ms() + (uint64_t)(seconds * 1000);

	while (!p->killed && !p->sb->m->closing && clock_mono_ms() < until)
		wait_change(p->sb->m, until);
	return p->killed || p->sb->m->closing ? KILLED : 0;
}

/* Copies standard input to its end. */
static int copy_input(struct mock_process *p)
{
	while (p->with_input && !p->killed && !p->sb->m->closing) {
		if (p->input.n > 0) {
			mock_process_put(p, "stdout", p->input.p, p->input.n);
			buf_clear(&p->input);
		} else if (p->input_closed) {
			return 0;
		} else {
			wait_change(p->sb->m, clock_mono_ms() + 1000);
		}
	}
	return p->killed || p->sb->m->closing ? KILLED : 0;
}

static int copy_file(struct mock_process *p, const char *name)
{
	autobuf struct buf path = BUF_INIT(8192);

	mock_path(name, &path);
	const json_t *data = json_object_get(mock_file(p->sb, buf_cstr(&path)), "data");

	if (!data) {
		autofree char *text = str_fmt("cat: %s: No such file or directory\n", name);

		mock_process_put(p, "stderr", text ? text : "", text ? strlen(text) : 0);
		return 1;
	}
	mock_process_put(p, "stdout", json_string_value(data), json_string_length(data));
	return 0;
}

static void say(struct mock_process *p, struct line *l)
{
	autobuf struct buf out = BUF_INIT(1024 * 1024);

	for (size_t i = 1; i < l->n; i++) {
		buf_z(&out, i > 1 ? " " : "");
		buf_z(&out, word(l, i));
	}
	buf_ch(&out, '\n');
	mock_process_put(p, l->to_stderr ? "stderr" : "stdout", out.p, out.n);
}

/* --- python3 FILE --- */

static void on_line(void *user, json_t *line)
{
	struct mock_process *p = user;
	const char *type = json_string_value(json_object_get(line, "type"));
	const json_t *text = json_object_get(line, strcmp(type, "error") == 0 ? "traceback" : "text");

	if (strcmp(type, "result") != 0) /* only an interactive prompt shows it */
		mock_process_put(p, strcmp(type, "stdout") == 0 ? "stdout" : "stderr", json_string_value(text),
		    json_string_length(text));
	json_decref(line);
}

static bool on_sleep(void *user, double seconds)
{
	return nap(user, seconds) == 0;
}

static int run_file(struct mock_process *p, const char *name)
{
	autobuf struct buf path = BUF_INIT(8192);
	autojson json_t *vars = json_object();

	mock_path(name, &path);
	autojson json_t *data = json_incref(json_object_get(mock_file(p->sb, buf_cstr(&path)), "data"));

	if (!data)
		return copy_file(p, name); /* prints that it does not exist */
	const struct mock_run r = {
		.vars = vars,
		.envs = json_object_get(p->config, "envs"),
		.emit = on_line,
		.sleep = on_sleep,
		.user = p,
	};
	enum mock_end end = mock_eval(&r, json_string_value(data));

	return end == MOCK_LEFT ? KILLED : end == MOCK_RAISED ? 1 : 0;
}

/* *ret is the exit status. Returns false after an exit command, or if it was killed. */
static bool run(struct mock_process *p, struct line *l, int *ret)
{
	const char *name = word(l, 0), *cwd = json_string_value(json_object_get(p->config, "cwd"));

	*ret = 0;
	if (strcmp(name, "echo") == 0) {
		say(p, l);
	} else if (strcmp(name, "pwd") == 0) {
		autofree char *text = str_fmt("%s\n", cwd ? cwd : "/home/user");

		mock_process_put(p, "stdout", text ? text : "", text ? strlen(text) : 0);
	} else if (strcmp(name, "sleep") == 0) {
		*ret = nap(p, l->n > 1 ? atof(word(l, 1)) : 0);
	} else if (strcmp(name, "cat") == 0) {
		*ret = l->n > 1 ? copy_file(p, word(l, 1)) : copy_input(p);
	} else if (strcmp(name, "python3") == 0 && l->n > 1) {
		*ret = run_file(p, word(l, l->n - 1));
	} else if (strcmp(name, "false") == 0) {
		*ret = 1;
	} else if (strcmp(name, "exit") == 0) {
		*ret = l->n > 1 ? atoi(word(l, 1)) & 0xff : 0;
		return false;
	} else if (strcmp(name, "true") != 0) {
		autofree char *text = str_fmt("mock: cannot run '%s': this is a mock, which executes no commands\n",
		    name);

		mock_process_put(p, "stderr", text ? text : "", text ? strlen(text) : 0);
		*ret = 127;
	}
	return *ret != KILLED;
}

/* Runs a command given as words: the arguments from `first` on, preceded by cmd unless it is NULL. */
static int run_words(struct mock_process *p, const char *cmd, size_t first)
{
	const json_t *args = json_object_get(p->config, "args");
	struct line l = { .text = BUF_INIT(1024 * 1024) };
	int code = 0;

	if (cmd) {
		l.n = 1;
		buf_z(&l.text, cmd);
		buf_ch(&l.text, '\0');
	}
	for (size_t i = first; i < json_array_size(args) && l.n < WORDS_MAX; i++) {
		l.at[l.n++] = l.text.n;
		buf_z(&l.text, json_string_value(json_array_get(args, i)));
		buf_ch(&l.text, '\0');
	}
	if (l.n > 0)
		(void)run(p, &l, &code);
	buf_done(&l.text);
	return code;
}

int mock_command(struct mock_process *p)
{
	const json_t *args = json_object_get(p->config, "args");
	const char *cmd = json_string_value(json_object_get(p->config, "cmd")),
		   *at = json_string_value(json_array_get(args, 2));
	bool more = true;
	int code = 0;

	if (!cmd || strcmp(cmd, "/bin/bash") != 0 || !at)
		return cmd ? run_words(p, cmd, 0) : 127;
	if (strcmp(at, "exec -- \"$@\"") == 0) /* `atoll exec` passes words to a login shell this way */
		return run_words(p, NULL, 4);
	while (more && *at) {
		struct line l;

		at = parse(p, at, &l);
		if (l.n > 0 && !l.text.bad)
			more = run(p, &l, &code);
		buf_done(&l.text);
	}
	return code;
}
