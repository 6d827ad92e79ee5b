/* SPDX-License-Identifier: Apache-2.0 */
/* front/sandbox/charge: charges the resource use of sandboxes to their team and key (front/account/quota.h). */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "front/account/capacity.h"

struct sandboxes;
struct msg_exited;
struct sandbox;

void charge_used(struct sandbox *sb, uint64_t cpu_ns, uint64_t sent_bytes); /* both counted since its start */
/* Called when sb leaves the table. The warden reports its final use later, in EV_EXITED. */
void charge_leaves(struct sandbox *sb);
void charge_exited(struct sandboxes *all, const struct msg_exited *m);
void charge_key_moved(struct sandboxes *all, const char *from_key, const char *to_key); /* the key was rotated */
void charge_free(struct sandboxes *all);

/* Callbacks that the account floor calls; user is struct sandboxes. */
size_t charge_count_of_key(void *user, const char *key);
void charge_look(void *user, struct capacity_now *ret);
