/* SPDX-License-Identifier: Apache-2.0 */
/* client/event: what the stream of a process says, one envelope at a time. No I/O. */
#pragma once

#include <stdint.h>

#include "base/buf.h"
#include "client/atoll.h"
#include "http/connect.h"

enum event_kind {
	EVENT_OTHER,			/* keepalive, or something newer than this code */
	EVENT_START,			/* pid */
	EVENT_DATA,			/* stream, and the bytes in the buf */
	EVENT_END,			/* exit */
	EVENT_CLOSE,			/* end of the stream, all well */
	EVENT_ERROR,			/* end of the stream: code, message */
};

struct event {
	enum event_kind kind;
	int64_t pid;
	enum atoll_stream stream;
	struct atoll_exit exit;
	char code[32];
	char message[400];
};

/* 0 or -EBADMSG. data is cleared, and filled by EVENT_DATA. */
int event_parse(const struct envelope *env, struct event *ret, struct buf *data);

int event_errno(const struct event *ev);	/* of an EVENT_ERROR */
