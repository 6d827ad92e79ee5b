/* SPDX-License-Identifier: Apache-2.0 */
/* front/sandbox/charge: what sandboxes use goes on the account of their team and key (front/account/quota.h), and the
 * sandboxes of whoever is beyond what a day allows are paused. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "front/account/capacity.h"

struct front;
struct msg_exited;
struct sandbox;

void charge_used(struct sandbox *sb, uint64_t cpu_ns, uint64_t sent_bytes); /* since its start */
/* it is not in the table any more; its last count is still to come */
void charge_leaves(struct sandbox *sb);
void charge_exited(struct front *f, const struct msg_exited *m);
void charge_tick(struct front *f);                                                /* once a second */
void charge_key_moved(struct front *f, const char *from_key, const char *to_key); /* it was rotated */
void charge_free(struct front *f);

/* What the account floor asks of this one; user: struct front. */
size_t charge_count_of_key(void *user, const char *key);
void charge_look(void *user, struct capacity_now *ret);
