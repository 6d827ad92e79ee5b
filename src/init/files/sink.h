/* SPDX-License-Identifier: Apache-2.0 */
/* sink: one file being uploaded.
 *
 * A new file is written in place and taken away again if anything goes wrong. An existing one keeps its inode, mode,
 * links and other attributes, so it is overwritten in place too, not replaced: up to SINK_HOLD bytes are held back
 * until all have arrived, so that a client that goes away half-way changes nothing; beyond that, or when the disk is
 * full, the old content is already lost and the file is left empty, never half-written. */
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
	bool created; /* by us */
	bool holding; /* an existing file, not touched yet */
	bool durable; /* it is to be on the disk when it is finished */
	struct buf held;
};

struct sink_error {
	int status; /* of the HTTP answer */
	char text[SINK_TEXT];
};

/* Parents are made. All return 0 or -1 with *e filled; after a failure the sink is closed and tidied. */
int sink_open(struct sink *s, const char *path, const struct user *u, struct sink_error *e);
int sink_write(struct sink *s, struct str data, struct sink_error *e);
int sink_finish(struct sink *s, const json_t *meta, struct sink_error *e);
void sink_discard(struct sink *s); /* fine on one that is not open */

int sink_fail(struct sink_error *e, int status, const char *fmt, ...) __attribute__((format(printf, 3, 4))); /* -1 */
