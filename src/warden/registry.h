/* SPDX-License-Identifier: Apache-2.0 */
/* registry: which of the machine's instance slots this warden holds.
 *
 * A slot N decides the uid range, the address range and every name (cgroups, links, tables) of an instance, so
 * two wardens must never share one. DIR/N is locked for the life of the warden and holds the path of its state
 * directory; it stays when sandboxes outlive the warden, and the same state directory gets the same slot again. */
#pragma once

#include <stdint.h>

#include "base/err.h"

#define REGISTRY_DIR "/run/atoll/registry"
#define REGISTRY_SLOTS 16

/* state: absolute path without links. ret_fd holds the lock. -EBUSY: another warden has this state directory.
 * -ENOSPC: all slots are taken. */
int registry_take(const char *dir, const char *state, uint32_t *ret_slot, int *ret_fd, struct err *e);

/* Forgets the slot: nothing of the instance is left. The caller closes the fd afterwards. */
void registry_release(const char *dir, uint32_t slot);
