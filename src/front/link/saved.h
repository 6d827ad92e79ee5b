/* SPDX-License-Identifier: Apache-2.0 */
/* front/link/saved: has the warden delete what was saved of a sandbox; asks again while the warden is too busy for
 * it. */
#pragma once

struct links;

void saved_delete(struct links *l, const char *name);
