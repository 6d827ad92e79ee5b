/* SPDX-License-Identifier: Apache-2.0 */
/* oom: tells the front when the kernel has killed a process of a sandbox for want of memory. */
#pragma once

struct sandbox;

void oom_begin(struct sandbox *sb);	/* it runs; without a watch it runs all the same */
void oom_end(struct sandbox *sb);	/* fine without */
