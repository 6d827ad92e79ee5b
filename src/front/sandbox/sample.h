/* SPDX-License-Identifier: Apache-2.0 */
/* front/sandbox/sample: what a sandbox uses, asked from the warden every few seconds (front/account/usage.h). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct msg_usage;
struct sandbox;
struct warden_reply;

void usage_tick(struct sandbox *sb, uint64_t now_mono_ms); /* asks the warden when it is time */
/* adds the sample of a reply; NULL: there is none */
const struct msg_usage *usage_take(struct sandbox *sb, const struct warden_reply *re);

/* It runs and has no sample yet: it was started a moment ago, or this front was. usage_first() asks for one, then calls
 * `then` also if there is none to be had. */
bool usage_lacks_first(const struct sandbox *sb);
void usage_first(struct sandbox *sb, void (*then)(void *user), void *user);
