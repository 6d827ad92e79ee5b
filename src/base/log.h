/* SPDX-License-Identifier: Apache-2.0 */
/* log: one event, one JSON line on stderr: time, level, program, a fixed phrase, key=value pairs.
 *
 *	log_info("sandbox started", "id=%s ms=%u", id, ms);
 *
 * The pairs are written as one escaped string field "kv", so that no text from outside can break a line. Code
 * that returns an error does not log it; the caller that stops propagating it does. */
#pragma once

enum log_level { LOG_LVL_DEBUG, LOG_LVL_INFO, LOG_LVL_WARN, LOG_LVL_ERROR };

void log_setup(const char *program, enum log_level at_least);
void log_set_level(enum log_level at_least);
enum log_level log_get_level(void);

/* Calls fn for each line as well: for a program whose stderr is not read. fn must not log. */
void log_listen(void (*fn)(void *user, const char *event, const char *kv), void *user);

int log_level_parse(const char *name, enum log_level *ret); /* -EINVAL */
void log_at(enum log_level lvl, const char *event, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

#define log_debug(event, ...) log_at(LOG_LVL_DEBUG, event, "" __VA_ARGS__)
#define log_info(event, ...) log_at(LOG_LVL_INFO, event, "" __VA_ARGS__)
#define log_warn(event, ...) log_at(LOG_LVL_WARN, event, "" __VA_ARGS__)
#define log_error(event, ...) log_at(LOG_LVL_ERROR, event, "" __VA_ARGS__)
