/* SPDX-License-Identifier: Apache-2.0 */
/* ipc/check: is this field well-formed? Used by the sender to be kind and by the receiver to be safe. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "ipc/msg.h"

/* Text ends with a NUL within size, and zeros follow it. */
bool check_text(const char *field, size_t size);
bool check_id(const char id[ID_SIZE]);                      /* [a-z0-9]{1,23}, zero padded */
bool check_image_ref(const char ref[IMAGE_REF_SIZE]);       /* fit to be an argument of a program, no more */
bool check_request(const char request[REQUEST_ID_SIZE]);    /* [A-Za-z0-9_-]{0,64}, zero padded */
bool check_template_key(const char key[TEMPLATE_KEY_SIZE]); /* 32 hex digits */
bool msg_check_limits(const struct msg_limits *l, const struct msg_limits *max); /* in range; see struct msg_limits */
/* Absolute, clean, no control characters, none of []\\ (which CRIU cannot take), not "/" and not in /proc, /sys or
 * /dev. */
bool check_mount_path(const char *path);
bool check_mount(const struct msg_mount *m);

/* --- the table of messages, ipc/messages.tbl --- */

enum msg_kind { MSG_REQUEST = 1, MSG_REPLY, MSG_EVENT };

struct msg_info {
	enum msg_kind kind;
	size_t size;                 /* exact, without a policy and mounts */
	const char *name;            /* of requests and events: "start" */
	enum msg_type answer, other; /* of requests; MSG_NONE: no other */
	bool more;                   /* of replies: another one follows */
	bool fd;                     /* of requests: the answer may carry one; of events: it carries one */
};

const struct msg_info *msg_info(unsigned type); /* NULL: no such message */
size_t msg_size(unsigned type);                 /* 0: no such message */
