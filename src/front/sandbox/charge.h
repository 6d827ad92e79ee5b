/* SPDX-License-Identifier: Apache-2.0 */
/* front/sandbox/charge: charges the resource use of sandboxes to their team and key (front/account/quota.h), and
 * pauses the sandboxes of teams and keys that exceed a daily quota. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "front/account/capacity.h"

struct front;
struct msg_exited;
struct sandbox;

void charge_used(struct sandbox *sb, uint64_t cpu_ns, uint64_t sent_bytes); /* both counted since its start */
/* Called when sb leaves the table. The warden reports its final use later, in EV_EXITED. */
void charge_leaves(struct sandbox *sb);
void charge_exited(struct front *f, const struct msg_exited *m);
void charge_tick(struct front *f);                                                /* once a second */
void charge_key_moved(struct front *f, const char *from_key, const char *to_key); /* the key was rotated */
void charge_free(struct front *f);

/* Callbacks that the account floor calls; user is struct front. */
size_t charge_count_of_key(void *user, const char *key);
void charge_look(void *user, struct capacity_now *ret);
