/* SPDX-License-Identifier: Apache-2.0 */
/* refusals: keeps atoll-refusals running, which reads from the kernel which system calls of sandboxes were
 * refused, and forwards its reports.
 *
 * A sandbox that makes refused calls all the time costs kernel work that is charged to no cgroup. The kernel is
 * then told not to record its refusals for a while, by a rule of the audit system about the sandbox's uids. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct warden;

/* Opens the socket; before the warden drops its capabilities. Without it everything else works, but no refusal
 * is explained. */
void refusals_listen(struct warden *w);
int refusals_open(struct warden *w, struct err *e); /* starts the program, if the socket is open */
void refusals_close(struct warden *w);
/* reports to the front what the firewall has refused so far; before a slot is reused */
void refusals_blocked(struct warden *w);
void refusals_tick(struct warden *w); /* about once a second: ends the silence of sandboxes whose time is up */
void refusals_slot_free(struct warden *w, uint32_t slot); /* the next sandbox of the slot is not silenced */
