/* SPDX-License-Identifier: Apache-2.0 */
/* sink: one file being uploaded.
 *
 * A new file is written in place and removed again on failure. An existing file keeps its inode, mode, links and
 * other attributes, so it is overwritten in place, not replaced. Up to SINK_HOLD bytes are buffered until all have
 * arrived, so a client that disconnects half-way changes nothing. Beyond that, or when the disk is full, the old
 * content is already lost and the file is left empty, never half-written. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <sys/types.h>

#include "base/buf.h"

struct user;

#define SINK_HOLD (1024 * 1024)
#define SINK_TEXT 5120

struct sink {
	int fd; /* -1: not open */
	char *path;
	bool created; /* the file did not exist before */
	bool holding; /* an existing file, not modified yet */
	bool durable; /* the file is synced to disk when it is finished */
	struct buf held;
};

struct sink_error {
	int status; /* status of the HTTP answer */
	char text[SINK_TEXT];
};

/* Creates missing parents. All return 0 or -1 with *e filled; after a failure the sink is closed and cleaned up.
 * parent: the directory of the last file of this upload, so that its parents are not looked at for every file; starts
 * as NULL, and is owned by the caller. NULL: this is the only file. */
int sink_open(struct sink *s, const char *path, const struct user *u, char **parent, struct sink_error *e);
int sink_write(struct sink *s, struct str data, struct sink_error *e);
int sink_finish(struct sink *s, const json_t *meta, struct sink_error *e);
void sink_discard(struct sink *s); /* no-op if it is not open */

int sink_fail(struct sink_error *e, int status, const char *fmt, ...) __attribute__((format(printf, 3, 4))); /* -1 */
