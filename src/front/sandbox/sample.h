/* SPDX-License-Identifier: Apache-2.0 */
/* front/sandbox/sample: asks the warden for the resource use of a sandbox every few seconds
 * (front/account/usage.h). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct msg_usage;
struct sandbox;
struct sandboxes;
struct warden_reply;

void usage_ticks(struct sandboxes *all); /* once a second, before usage_tick() of all: bounds how many are asked */
void usage_tick(struct sandbox *sb, uint64_t now_mono_ms); /* asks the warden when the next sample is due */
/* adds the sample of a reply; returns NULL if the reply has none */
const struct msg_usage *usage_take(struct sandbox *sb, const struct warden_reply *re);

/* True if the sandbox runs and has no sample yet, because it or this front has just started. usage_first() asks
 * for one and then calls `then`, also if no sample could be had. */
bool usage_lacks_first(const struct sandbox *sb);
void usage_first(struct sandbox *sb, void (*then)(void *user), void *user);
