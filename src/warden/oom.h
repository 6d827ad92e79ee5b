/* SPDX-License-Identifier: Apache-2.0 */
/* oom: tells the front when the kernel has killed a process of a sandbox for want of memory. */
#pragma once

struct unit;

void oom_begin(struct unit *sb); /* it runs; without a watch it runs all the same */
void oom_end(struct unit *sb);   /* fine without */
