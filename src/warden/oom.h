/* SPDX-License-Identifier: Apache-2.0 */
/* oom: notifies the front when the kernel's OOM killer has killed a process of a sandbox. */
#pragma once

#include <stdint.h>

struct unit;

void oom_begin(struct unit *sb); /* for a running sandbox, which also runs without the watch */
/* The counter as it was just read for another purpose. Without descriptors for all sandboxes (warden.h), some of them
 * are not watched, and their kills are reported when their use is sampled next. */
void oom_seen(struct unit *sb, uint32_t kills);
void oom_end(struct unit *sb); /* allowed without a watch */
