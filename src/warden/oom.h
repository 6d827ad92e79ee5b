/* SPDX-License-Identifier: Apache-2.0 */
/* oom: notifies the front when the kernel's OOM killer has killed a process of a sandbox. */
#pragma once

struct unit;

void oom_begin(struct unit *sb); /* for a running sandbox, which also runs without the watch */
void oom_end(struct unit *sb);   /* allowed without a watch */
