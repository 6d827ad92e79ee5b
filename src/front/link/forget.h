/* SPDX-License-Identifier: Apache-2.0 */
/* front/link/forget: has the warden remove what was kept of a sandbox; asks again while the warden is too busy for
 * it. */
#pragma once

struct front;

void forget_kept(struct front *f, const char *name);
