/* SPDX-License-Identifier: Apache-2.0 */
/* proto: checks whether the front may send this request now. Checks requests and their fields, without any I/O.
 *
 * The front reads bytes from outside, so the warden treats it as compromised. A request passes only if its type
 * is in the table (ipc/messages.tbl), its size is exact, it carries no fds, the phase allows it, and each field
 * is what a correct front would send. Anything else is a violation: the caller drops the front. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ipc/msg.h"

enum phase { PHASE_NEW = 1, PHASE_SERVE = 2 };

struct proto { /* one life of a front; starts zeroed except for the pointers */
	enum phase phase;
	bool greeted; /* a hello was received */
	struct msg_limits maxima;
	const struct msg_template *templates;
	uint32_t n_templates;
};

/* Returns NULL if the request is accepted: *ret_type is set and the phase has advanced. Otherwise returns the
 * reason. */
const char *proto_check(struct proto *pr, const void *msg, size_t n, size_t n_fds, enum msg_type *ret_type);
