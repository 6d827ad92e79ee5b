/* SPDX-License-Identifier: Apache-2.0 */
/* front/account/accounts: who may do what, and how much of it they use. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "ipc/msg.h"

struct capacity;
struct census;
struct keyring;
struct links;
struct metrics;
struct penalties;

struct accounts {
	struct links *link;
	struct keyring *keyring;
	struct penalties *penalties;
	struct metrics *metrics;
	struct census *census;
	struct capacity *capacity;
	struct msg_limits defaults, maxima;                        /* of a sandbox */
	struct msg_template_limits template_limits[TEMPLATES_MAX]; /* ... of those of a template */
	uint32_t n_template_limits;
	/* how many sandboxes of a key there are; set by the floor of the sandboxes */
	size_t (*count_of_key)(void *user, const char *key);
	void *count_user;
};
