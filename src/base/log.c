/* SPDX-License-Identifier: Apache-2.0 */
/* log: JSON lines on stderr. */
#include "base/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"

#define LINE_MAX_BYTES 4096

static const char *const level_name[] = { "debug", "info", "warn", "error" };

/* The only process-wide state: every module logs, and none should have to pass a logger around. */
static struct {
	const char *program;
	_Atomic enum log_level at_least;
	void (*listener)(void *user, const char *event, const char *kv);
	void *user;
} cfg = { "atoll", LOG_LVL_INFO };

void log_setup(const char *program, enum log_level at_least)
{
	cfg.program = program;
	cfg.at_least = at_least;
}

void log_listen(void (*fn)(void *user, const char *event, const char *kv), void *user)
{
	cfg.listener = fn;
	cfg.user = user;
}

void log_set_level(enum log_level at_least)
{
	cfg.at_least = at_least;
}

enum log_level log_get_level(void)
{
	return cfg.at_least;
}

int log_level_parse(const char *name, enum log_level *ret)
{
	for (size_t i = 0; i < sizeof level_name / sizeof *level_name; i++) {
		if (strcmp(name, level_name[i]) == 0) {
			*ret = (enum log_level)i;
			return 0;
		}
	}
	return -EINVAL;
}

static void put_escaped(struct buf *b, const char *z)
{
	for (; *z; z++) {
		unsigned char c = (unsigned char)*z;

		if (c == '"' || c == '\\')
			buf_fmt(b, "\\%c", c);
		else if (c < 0x20 || c >= 0x7f)
			buf_fmt(b, "\\u%04x", c);
		else
			buf_ch(b, (char)c);
	}
}

void log_at(enum log_level lvl, const char *event, const char *fmt, ...)
{
	char when[CLOCK_RFC3339_SIZE], kv[1024];
	autobuf struct buf line = BUF_INIT(LINE_MAX_BYTES * 2);
	int saved = errno;
	va_list ap;

	if (lvl < cfg.at_least)
		return;
	clock_rfc3339(clock_wall_ms(), when);
	va_start(ap, fmt);
	(void)vsnprintf(kv, sizeof kv, fmt, ap);
	va_end(ap);
	buf_fmt(&line, "{\"time\":\"%s\",\"level\":\"%s\",\"program\":\"%s\",\"event\":\"", when, level_name[lvl],
	    cfg.program);
	put_escaped(&line, event);
	if (kv[0]) {
		buf_z(&line, "\",\"kv\":\"");
		put_escaped(&line, kv);
	}
	buf_z(&line, "\"}\n");
	if (!line.bad && write(STDERR_FILENO, line.p, line.n) < 0) {
		/* there is nowhere to report it */
	}
	if (cfg.listener)
		cfg.listener(cfg.user, event, kv);
	errno = saved;
}
