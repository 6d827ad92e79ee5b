/* SPDX-License-Identifier: Apache-2.0 */
/* front/link/forget: has the warden remove what was kept of a sandbox; asks again while the warden is too busy for
 * it. */
#pragma once

struct links;

void forget_kept(struct links *l, const char *name);
