/* SPDX-License-Identifier: Apache-2.0 */
/* ipc/egress: the messages from the warden to atoll-egress, and its answers.
 *
 * A SOCK_SEQPACKET socketpair; one message per packet, in host byte order. The warden sends the policy of every
 * sandbox whose policy has names or a proxy in it, and then EG_READY. Until then atoll-egress serves nothing,
 * since a sandbox without a policy may look up any name. Each message is answered by EG_DONE with its seq once
 * it is in effect. Any other message ends the process. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "ipc/msg.h"
#include "ipc/policy.h"

#define EG_VERSION 1

enum eg_type {
	EG_POLICY = 1, /* struct eg_policy: of the sandbox at that address, replaces any other */
	EG_CLEAR,      /* struct eg_clear: removes the policy of that address */
	EG_READY,      /* struct eg_plain */
	EG_FRONT,      /* struct eg_plain and one fd: the socket to the current front (ipc/rules.h) */
	EG_DONE = 64,  /* struct eg_plain, from atoll-egress */
};

struct eg_head {
	uint16_t version;
	uint16_t type;
	uint32_t seq;
};

struct eg_plain {
	struct eg_head head;
};

struct eg_clear {
	struct eg_head head;
	uint32_t ip; /* host byte order */
	uint8_t pad[4];
};

struct eg_policy {
	struct eg_head head;
	uint32_t ip;
	uint32_t n_policy; /* bytes of an ipc/policy.h that follow */
	char id[ID_SIZE];  /* of the sandbox */
};

#define EG_MAX (sizeof(struct eg_policy) + POLICY_MAX)
