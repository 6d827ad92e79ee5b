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
/* exact size of a message of that type without a policy, 0: no such type */
size_t msg_size(enum msg_type t);
