/* SPDX-License-Identifier: Apache-2.0 */
/* registry: the instance number of this warden on the machine.
 *
 * Slot N determines the uid range, the address range and every name (cgroups, links, tables) of an instance, so
 * two wardens must never share one. DIR/N is locked for the life of the warden and contains the path of its
 * state directory. The file stays while sandboxes outlive the warden, and the same state directory gets the same
 * slot again. */
#pragma once

#include <stdint.h>

#include "base/err.h"

#define REGISTRY_DIR "/run/atoll/registry"
#define REGISTRY_SLOTS 16

/* state: absolute path without symbolic links. ret_fd holds the lock. -EBUSY: another warden has this state
 * directory. -ENOSPC: all slots are taken. */
int registry_take(const char *dir, const char *state, uint32_t *ret_slot, int *ret_fd, struct err *e);

/* Frees the slot when nothing of the instance is left. The caller closes the fd afterwards. */
void registry_release(const char *dir, uint32_t slot);
