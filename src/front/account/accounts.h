/* SPDX-License-Identifier: Apache-2.0 */
/* front/account/accounts: teams, keys and quotas, and what they use. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "ipc/msg.h"

struct capacity;
struct census;
struct held;
struct keyring;
struct links;
struct metrics;
struct penalties;

LIST_HEAD(held_list, held);

struct accounts {
	struct links *link;
	struct keyring *keyring;
	struct penalties *penalties;
	struct held_list held; /* refusals that are delayed */
	struct metrics *metrics;
	struct census *census;
	struct capacity *capacity;
	struct msg_limits defaults, maxima;                        /* limits of a sandbox */
	struct msg_template_limits template_limits[TEMPLATES_MAX]; /* limits of sandboxes of particular templates */
	uint32_t n_template_limits;
	/* The number of sandboxes of a key; set by the sandbox floor. */
	size_t (*count_of_key)(void *user, const char *key);
	void *count_user;
};
