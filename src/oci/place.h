/* SPDX-License-Identifier: Apache-2.0 */
/* oci/place: where an image is made and where it is found: CACHE/images/work/N while it grows, CACHE/templates/KEY when
 * it is whole.
 *
 * N is a slot: a locked file while a pull has it, and with it a range of uids for the processes that read strangers'
 * bytes. What an interrupted pull has left in a slot is removed by the next one that gets it. */
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
	char name[12]; /* of our directory in work */
	int dir_fd;    /* that directory; it has rootfs/ */
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

/* The directories only. state: of the server that images are for, NULL: none. */
int place_open(const char *cache, const char *state, struct place *ret, struct err *e);
int place_take_slot(struct place *p, struct err *e); /* -EBUSY when all are taken for long */
void place_close(struct place *p);                   /* removes what is in the slot */

void place_key(const struct fetch_plan *plan, char out[PLACE_KEY_SIZE]);
/* 1: yes, and it stays for our server; 0; -errno */
int place_has(const struct place *p, const char *key, struct err *e);

/* What is in the slot becomes templates/KEY, and safe on disk. */
int place_finish(struct place *p, const char *key, const char *ref, const struct fetch_plan *plan, struct err *e);

/* Images (not templates that were made from recipes) whose key is not in keep and that no other server needs; not those
 * that were asked for less than idle_s ago. They are out of sight then; trash_empty() has yet to delete them. */
int place_remove_images(struct place *p, char *const *keep, size_t n, uint64_t idle_s, unsigned *ret_removed,
    struct err *e);
void place_sweep(struct place *p); /* what interrupted pulls have left in slots that are free */
