/* SPDX-License-Identifier: Apache-2.0 */
/* front/link/saved: asks the warden to delete the saved state of a sandbox; retries while the warden is busy. */
#pragma once

struct links;

void saved_delete(struct links *l, const char *name);
