/* SPDX-License-Identifier: Apache-2.0 */
/* client/event: what the stream of a process or of a watched directory says, one envelope at a time. No I/O. */
#pragma once

#include <stdint.h>

#include "base/buf.h"
#include "client/atoll.h"
#include "http/connect.h"

enum event_kind {
	EVENT_OTHER,    /* keepalive, or something newer than this code */
	EVENT_START,    /* pid */
	EVENT_DATA,     /* stream, and the bytes in the buf */
	EVENT_END,      /* exit */
	EVENT_WATCHING, /* from here on changes of files are told */
	EVENT_CHANGE,   /* change, and the name in the buf */
	EVENT_CLOSE,    /* end of the stream, all well */
	EVENT_ERROR,    /* end of the stream: code, message */
};

struct event {
	enum event_kind kind;
	int64_t pid;
	enum atoll_stream stream;
	enum atoll_change change;
	struct atoll_exit exit;
	char code[32];
	char message[400];
};

/* 0 or -EBADMSG. data is cleared, and filled by EVENT_DATA and EVENT_CHANGE. */
int event_parse(const struct envelope *env, struct event *ret, struct buf *data);

enum atoll_change event_change(const char *type); /* "EVENT_TYPE_CREATE"; 0: unknown */
int event_errno(const struct event *ev);          /* of an EVENT_ERROR */
