/* SPDX-License-Identifier: Apache-2.0 */
/* registry: the instance number of this warden on the machine.
 *
 * Slot N determines the uid range, the address range and every name (cgroups, links, tables) of an instance, so
 * two wardens must never share one. DIR/N is locked for the life of the warden and contains the path of its
 * state directory, and the areas of uids that it has. The file stays while sandboxes outlive the warden, and the same
 * state directory gets the same slot again. */
#pragma once

#include <stdint.h>

#include "base/err.h"
#include "engine/slot.h"

#define REGISTRY_DIR "/run/atoll/registry"
#define REGISTRY_SLOTS 16

/* state: absolute path without symbolic links. ret_fd holds the lock. -EBUSY: another warden has this state
 * directory. -ENOSPC: all slots are taken. */
int registry_take(const char *dir, const char *state, uint32_t *ret_slot, int *ret_fd, struct err *e);

/* Takes areas of uids (engine/slot.h) for the slots of this server beyond the first SLOT_HOME: those it has, in the
 * same order, and more until it has `want` of them or none is left. fd: of registry_take(). The areas are in the file
 * of the slot, so they are free when the slot is. */
int registry_areas(const char *dir, uint32_t slot, int fd, uint32_t want, uint32_t ret[SLOT_AREAS_EACH],
    uint32_t *ret_n, struct err *e);

/* Frees the slot when nothing of the instance is left. The caller closes the fd afterwards. */
void registry_release(const char *dir, uint32_t slot);
