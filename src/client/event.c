/* SPDX-License-Identifier: Apache-2.0 */
/* client/event: parses the event stream of a process, one envelope at a time. */
#include "client/event.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "http/json.h"

static void copy_text(char *dst, size_t size, const json_t *j, const char *otherwise)
{
	const char *z = json_string_value(j);

	(void)snprintf(dst, size, "%s", z ? z : otherwise);
}

/* Some servers send 64-bit numbers as strings, and zero may be omitted. */
static int number(const json_t *j, int64_t *ret)
{
	*ret = 0;
	if (!j || json_is_null(j))
		return 0;
	if (json_is_string(j))
		return str_to_i64(str_of(json_string_value(j)), INT64_MIN, INT64_MAX, ret);
	if (!json_is_integer(j))
		return -EBADMSG;
	*ret = json_integer_value(j);
	return 0;
}

static int parse_data(const json_t *o, struct event *ret, struct buf *data)
{
	const json_t *out = json_object_get(o, "stdout"), *err = json_object_get(o, "stderr");

	if (!out)
		out = json_object_get(o, "pty");
	const char *text = json_string_value(out ? out : err);

	if (!out && !err)
		return 0;
	if (!text || base64_decode(str_of(text), data) < 0 || data->bad)
		return -EBADMSG;
	ret->kind = EVENT_DATA;
	ret->stream = out ? ATOLL_STDOUT : ATOLL_STDERR;
	return 0;
}

static int parse_end(const json_t *o, struct event *ret)
{
	int64_t code;

	if (number(json_object_get(o, "exitCode"), &code) < 0 || code < INT32_MIN || code > INT32_MAX)
		return -EBADMSG;
	ret->kind = EVENT_END;
	ret->exit.code = (int)code;
	ret->exit.exited = json_is_true(json_object_get(o, "exited"));
	copy_text(ret->exit.status, sizeof(ret->exit.status), json_object_get(o, "status"), "");
	return 0;
}

static int parse_close(const json_t *root, struct event *ret)
{
	const json_t *error = json_object_get(root, "error");

	if (!json_is_object(error)) {
		ret->kind = EVENT_CLOSE;
		return 0;
	}
	ret->kind = EVENT_ERROR;
	copy_text(ret->code, sizeof(ret->code), json_object_get(error, "code"), "unknown");
	copy_text(ret->message, sizeof(ret->message), json_object_get(error, "message"), "no reason given");
	return 0;
}

enum atoll_change event_change(const char *type)
{
	static const char *const names[] = {
		[ATOLL_CREATED] = "EVENT_TYPE_CREATE",
		[ATOLL_WRITTEN] = "EVENT_TYPE_WRITE",
		[ATOLL_REMOVED] = "EVENT_TYPE_REMOVE",
		[ATOLL_RENAMED] = "EVENT_TYPE_RENAME",
		[ATOLL_MODE_CHANGED] = "EVENT_TYPE_CHMOD",
	};

	for (size_t i = 1; type && i < sizeof(names) / sizeof(*names); i++) {
		if (strcmp(type, names[i]) == 0)
			return (enum atoll_change)i;
	}
	return 0;
}

static int parse_change(const json_t *o, struct event *ret, struct buf *data)
{
	const char *name = json_string_value(json_object_get(o, "name"));

	ret->change = event_change(json_string_value(json_object_get(o, "type")));
	if (!name || !ret->change)
		return name ? 0 : -EBADMSG;
	buf_z(data, name);
	ret->kind = EVENT_CHANGE;
	return data->bad ? -EBADMSG : 0;
}

static int parse_event(const json_t *root, struct event *ret, struct buf *data)
{
	const json_t *ev = json_object_get(root, "event"), *part;

	if ((part = json_object_get(root, "filesystem")))
		return parse_change(part, ret, data);
	if (json_object_get(root, "start")) {
		ret->kind = EVENT_WATCHING;
		return 0;
	}
	if ((part = json_object_get(ev, "data")))
		return parse_data(part, ret, data);
	if ((part = json_object_get(ev, "end")))
		return parse_end(part, ret);
	if ((part = json_object_get(ev, "start"))) {
		ret->kind = EVENT_START;
		return number(json_object_get(part, "pid"), &ret->pid) < 0 ? -EBADMSG : 0;
	}
	return 0;
}

int event_parse(const struct envelope *env, struct event *ret, struct buf *data)
{
	autojson json_t *root = NULL;

	*ret = (struct event) { .kind = EVENT_OTHER };
	buf_clear(data);
	if (env->flags & ENVELOPE_COMPRESSED) /* we did not offer compression */
		return -EBADMSG;
	root = json_loadb(env->body.n > 0 ? env->body.p : "", env->body.n, 0, NULL);
	if (!json_is_object(root))
		return -EBADMSG;
	return env->flags & ENVELOPE_END ? parse_close(root, ret) : parse_event(root, ret, data);
}

int event_errno(const struct event *ev)
{
	static const struct {
		const char *code;
		int no;
	} map[] = {
		{ "not_found", ENOENT },
		{ "invalid_argument", EINVAL },
		{ "unauthenticated", EACCES },
		{ "permission_denied", EPERM },
		{ "deadline_exceeded", ETIMEDOUT },
		{ "unavailable", ESRCH },
		{ "resource_exhausted", EAGAIN },
		{ "canceled", ECANCELED },
		{ "unimplemented", ENOSYS },
	};

	for (size_t i = 0; i < sizeof(map) / sizeof(*map); i++) {
		if (strcmp(ev->code, map[i].code) == 0)
			return map[i].no;
	}
	return EIO;
}
