/* SPDX-License-Identifier: Apache-2.0 */
/* refusals: keeps atoll-refusals running, which reads from the kernel what system calls were refused to sandboxes,
 * and passes on what it tells.
 *
 * A sandbox that does little else than being refused costs the host's kernel work that is on nobody's account:
 * the kernel is then told to be silent about it for a while, by a rule of its audit system about the sandbox's
 * uids. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct warden;

/* Before our power goes: the socket. Without it all works, but no refusal is ever explained. */
void refusals_listen(struct warden *w);
int refusals_open(struct warden *w, struct err *e); /* the program, if there is the socket */
void refusals_close(struct warden *w);
/* tells the front what the firewall has refused until now; before a slot changes hands */
void refusals_blocked(struct warden *w);
void refusals_tick(struct warden *w); /* about once a second: who was silenced long enough is heard again */
void refusals_slot_free(struct warden *w, uint32_t slot); /* who comes next there is heard */
