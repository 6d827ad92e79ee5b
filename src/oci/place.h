/* SPDX-License-Identifier: Apache-2.0 */
/* oci/place: the directories of images: CACHE/images/work/N during a pull, CACHE/templates/KEY when complete.
 *
 * N is a slot: a file that is locked during a pull. It also determines the uids of the processes that read
 * untrusted bytes. What an interrupted pull left in a slot is removed by the next pull that gets the slot. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "oci/pins.h"
#include "oci/pull.h"

#define PLACE_SLOTS 16
#define PLACE_KEY_SIZE 33

/* Below all ranges of sandboxes, see engine/slot.h. */
#define PLACE_UID_FETCH 0x0eff0000u /* + slot */
#define PLACE_UID_APPLY 0x0f000000u /* + slot * PULL_IDS */

struct place {
	int images_fd, templates_fd, work_fd; /* work_fd: CACHE/images/work */
	int slot_fd;                          /* the lock */
	unsigned slot;
	char name[12]; /* name of our directory in work */
	int dir_fd;    /* that directory; contains rootfs/ */
	int trash_fd;  /* CACHE/images/trash, see trash.h */
	struct pins pins;
};

#define PLACE_NONE \
	{ .images_fd = -1, \
		.templates_fd = -1, \
		.work_fd = -1, \
		.slot_fd = -1, \
		.dir_fd = -1, \
		.trash_fd = -1, \
		.pins = PINS_NONE }

/* Opens the directories only. state: of the server that the images are for, NULL: none. */
int place_open(const char *cache, const char *state, struct place *ret, struct err *e);
int place_take_slot(struct place *p, struct err *e); /* -EBUSY if all are taken for too long */
void place_close(struct place *p);                   /* removes the contents of the slot */

void place_key(const struct fetch_plan *plan, char out[PLACE_KEY_SIZE]);
/* 1: present, and now pinned for our server; 0; -errno. */
int place_has(const struct place *p, const char *key, struct err *e);

/* Syncs the contents of the slot to disk and renames them to templates/KEY. */
int place_finish(struct place *p, const char *key, const char *ref, const struct fetch_plan *plan, struct err *e);

/* Removes images (not templates made from recipes) whose key is not in keep and that no other server needs, except
 * those pulled less than idle_s ago. They are only moved to the trash; trash_empty() deletes them. */
int place_remove_images(struct place *p, char *const *keep, size_t n, uint64_t idle_s, unsigned *ret_removed,
    struct err *e);
void place_sweep(struct place *p); /* removes what interrupted pulls left in free slots */
