/* SPDX-License-Identifier: Apache-2.0 */
/* front/account/accounts: who may do what, and how much of it they use. */
#pragma once

#include <stdint.h>
#include <sys/queue.h>

#include "ipc/msg.h"

struct capacity;
struct census;
struct departed;
struct keyring;
struct links;
struct metrics;
struct penalties;

LIST_HEAD(departed_list, departed);

struct accounts {
	struct links *link;
	struct keyring *keyring;
	struct penalties *penalties;
	struct metrics *metrics;
	struct census *census;
	struct capacity *capacity;
	struct departed_list departed; /* sandboxes whose last count is still to come */
	uint32_t n_departed;
	struct msg_limits defaults, maxima;                        /* of a sandbox */
	struct msg_template_limits template_limits[TEMPLATES_MAX]; /* ... of those of a template */
	uint32_t n_template_limits;
};
