/* SPDX-License-Identifier: Apache-2.0 */
/* proto: may the front send this, now? The checks of requests and of their fields, without any I/O.
 *
 * The front reads bytes from outside, so the warden takes it for taken over. A request passes only if its type is
 * in the table (ipc/messages.tbl), its size is exact, it carries no fds, the phase allows it, and each field is what a
 * sound front would send. Anything else is a violation: the caller drops the front. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ipc/msg.h"

enum phase { PHASE_NEW = 1, PHASE_SERVE = 2 };

struct proto { /* one life of a front; zero but for the pointers at its start */
	enum phase phase;
	bool greeted; /* a hello has come */
	struct msg_limits maxima;
	const struct msg_template *templates;
	uint32_t n_templates;
};

/* NULL: take it, *ret_type says what it is and the phase has moved on. Else why not. */
const char *proto_check(struct proto *pr, const void *msg, size_t n, size_t n_fds, enum msg_type *ret_type);
