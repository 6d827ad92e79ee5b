/* SPDX-License-Identifier: Apache-2.0 */
/* stream_impl: the members of a stream. Internal to loop/stream.c and loop/leaving.c. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/buf.h"
#include "loop/carrier.h"
#include "loop/share.h"
#include "loop/stream.h"
#include "loop/streams.h"

struct loop;
struct timer;
struct watch;

struct stream {
	struct loop *loop;
	struct watch *watch;
	struct timer *linger; /* only after stream_close_flushed(), */
	TAILQ_ENTRY(stream) leaving;
	struct stream_list *left_by; /* the list of the loop that it is in */
	TAILQ_ENTRY(stream) joining; /* in the loop's list, if joins */
	struct share_member member;
	int ready;                    /* events that wait for a turn of its share */
	const struct stream_ops *ops; /* NULL: closed, no callbacks */
	void *user;
	struct stream_filter *filter; /* NULL: none */
	int fd;
	int events;          /* registered with the watch */
	struct carrier held; /* queue: first the bytes that another stream has moved here, */
	struct buf out;      /* then these; the first `off` bytes are already sent */
	size_t off;
	struct stream *to, *from; /* target of the next `moves` bytes; source */
	uint64_t moves;
	size_t read_max;         /* 0: the whole scratch buffer */
	uint64_t flush_until_ms; /* closing: gives up at that time */
	int error;               /* to be reported; writing is not possible any more */
	bool reading, eof, dead, finishing, finished, above;
	bool end_held; /* the filter has seen the end, not reported yet */
	bool stalled;  /* not read until `to` has sent its queue */
	bool joins;    /* what is in `out` was not given to the kernel yet */
};

extern const struct stream_ops stream_linger_ops; /* of a stream that has no owner any more */
void stream_linger_progress(struct stream *s);

void stream_gone(void *p); /* frees a stream that has no fd and no watch any more */

/* Moves the stream to another list of closing streams, or out of them (NULL). */
void stream_leave_by(struct stream *s, struct stream_list *list);
