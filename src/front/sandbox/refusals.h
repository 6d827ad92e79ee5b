/* SPDX-License-Identifier: Apache-2.0 */
/* front/sandbox/refusals: what a sandbox was refused by the kernel and the firewall, as reported by the warden. */
#pragma once

struct msg_blocked;
struct msg_refused;
struct sandboxes;

void refusals_call(struct sandboxes *s, const struct msg_refused *m);       /* a system call */
void refusals_connection(struct sandboxes *s, const struct msg_blocked *m); /* a connection */
