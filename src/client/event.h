/* SPDX-License-Identifier: Apache-2.0 */
/* client/event: parses the event stream of a process or a watched directory, one envelope at a time. No I/O. */
#pragma once

#include <stdint.h>

#include "base/buf.h"
#include "client/atoll.h"
#include "http/connect.h"

enum event_kind {
	EVENT_OTHER,    /* keepalive, or unknown to this version */
	EVENT_START,    /* sets pid */
	EVENT_DATA,     /* sets stream; bytes in the buf */
	EVENT_END,      /* sets exit */
	EVENT_WATCHING, /* changes are reported from now on */
	EVENT_CHANGE,   /* sets change; name in the buf */
	EVENT_CLOSE,    /* end of the stream, success */
	EVENT_ERROR,    /* end of the stream, with code and message */
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

/* Returns 0 or -EBADMSG. data is cleared; EVENT_DATA and EVENT_CHANGE fill it. */
int event_parse(const struct envelope *env, struct event *ret, struct buf *data);

enum atoll_change event_change(const char *type); /* parses "EVENT_TYPE_CREATE"; 0 if unknown */
int event_errno(const struct event *ev);          /* for an EVENT_ERROR */
