/* SPDX-License-Identifier: Apache-2.0 */
/* ipc/check: checks whether a field is well-formed. The sender uses it to report errors early, the receiver for
 * safety. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "ipc/msg.h"

/* The text is NUL-terminated within size, and padded with zeros. */
bool check_text(const char *field, size_t size);
bool check_id(const char id[ID_SIZE]);                      /* [a-z0-9]{1,23}, zero padded */
bool check_image_ref(const char ref[IMAGE_REF_SIZE]);       /* safe as an argument of a program, no more */
bool check_request(const char request[REQUEST_ID_SIZE]);    /* [A-Za-z0-9_-]{0,64}, zero padded */
bool check_template_key(const char key[TEMPLATE_KEY_SIZE]); /* 32 hex digits */
bool msg_check_limits(const struct msg_limits *l, const struct msg_limits *max); /* in range; see struct msg_limits */
/* Absolute, normalized, without control characters and []\\ (which CRIU cannot handle), not "/" and not in
 * /proc, /sys or /dev. */
bool check_mount_path(const char *path);
bool check_mount(const struct msg_mount *m);

/* --- the table of messages, ipc/messages.tbl --- */

enum msg_kind { MSG_REQUEST = 1, MSG_REPLY, MSG_EVENT };

struct msg_info {
	enum msg_kind kind;
	size_t size;                 /* exact, without policy and mounts */
	const char *name;            /* of requests and events: "start" */
	enum msg_type answer, other; /* of requests: the two possible answers; MSG_NONE: only one */
	bool more;                   /* of replies: another reply follows */
	bool fd;                     /* of requests: the answer may carry an fd; of events: it carries one */
};

const struct msg_info *msg_info(unsigned type); /* NULL: no such message */
size_t msg_size(unsigned type);                 /* 0: no such message */
